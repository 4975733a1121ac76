"""What a URL of a database, or a driver's setting, may not have, and that ordinary ones pass."""

from __future__ import annotations

import time

import pytest

from kconnect.core.settings.unsafe import dangers, of_config

LOGIN = "the machine's own login"
URLS = (
    ("jdbc:mariadb://h/d?credentialType=ENV&userKey=A&pwdKey=B", "credentialtype", LOGIN),
    ("jdbc:mariadb://h/d?credentialType=AWS-IAM", "credentialtype", LOGIN),
    ("jdbc:sqlserver://h;authentication=ActiveDirectoryManagedIdentity", "authentication", LOGIN),
    ("jdbc:sqlserver://x.database.windows.net;serverName=h;authentication=ActiveDirectoryMSI", "authentication", LOGIN),
    ("jdbc:sqlserver://h/x.database.windows.net;authentication=ActiveDirectoryDefault", "authentication", LOGIN),
    ("jdbc:oracle:thin:@tcps://h:1/d?TOKEN_AUTH=OAUTH&TOKEN_LOCATION=/t", "token_location", "one of the worker's files"),
    ("jdbc:oracle:thin:@(DESCRIPTION=(SECURITY=(TOKEN_LOCATION=/t)))", "token_location", "one of the worker's files"),
    ("jdbc:oracle:thin:@tcps://h:1/d?oracle.jdbc.tokenAuthentication=OCI_INSTANCE_PRINCIPAL", "tokenauthentication", LOGIN),
    ("jdbc:snowflake://h/?authenticator=WORKLOAD_IDENTITY", "authenticator", LOGIN),
    ("jdbc:aws-wrapper:postgresql://h/d?wrapperPlugins=failover,awsSecretsManager", "wrapperplugins", LOGIN),
    ("jdbc:aws-wrapper:postgresql://h/d?wrapperPlugins=efm&WRAPPERPLUGINS=%69am", "wrapperplugins", LOGIN),
    ("jdbc:redshift://h:5439/d?IAMAuth=true", "iamauth", LOGIN),
    ("jdbc:postgresql:///d?cloudSqlInstance=a:b:c&cloudSqlAdminRootUrl=http://h/", "cloudsqladminrooturl", LOGIN),
    ("jdbc:bigquery://https://h:443;ProjectId=x;OAuthType=3", "jdbc:google", LOGIN),
    ("jdbc:cloudspanner://h:443/projects/p/instances/i/databases/d", "jdbc:google", LOGIN),
    ("jdbc:databricks://h:443;AuthMech=11;Auth_Flow=3", "auth_flow", LOGIN),
    ("jdbc:oracle:thin:@h:1/d?oracle.jdbc.provider.password=ojdbc-provider-gcp-secretmanager", "oracle.jdbc.provider", LOGIN),
    ("jdbc:sybase:jndi:ldap://h/x", "connection.url", "load what is at an address"),
    ("jdbc:informix-sqli://h:1/d:SQLIDEBUG=/x", "sqlidebug", "writes files"),
    ("mongodb://h/?authMechanism=MONGODB-AWS", "authmechanism", LOGIN),
    ("jdbc:redshift:iam://h.example.com:5439/d", "jdbc:redshift:iam", LOGIN),
    ("jdbc:hive2://h:1/d;initFile=/etc/passwd", "initfile", "one of the worker's files"),
    ("jdbc:trino://h/d?dnsResolver=a.b.C", "dnsresolver", "load a class"),
    ("jdbc:ch://h/d?load_balancing_policy=a.b.C", "load_balancing_policy", "load a class"),
    ("jdbc:new://h/d?thatNobodyKnows=a.b.C", "thatnobodyknows", "load a class"),
    ("jdbc:informix-sqli://h:1/d:PROTOCOLTRACEFILE=/x", "protocoltracefile", "writes files"),
    ("jdbc:derby://h:1/d;traceDirectory=/x", "tracedirectory", "writes files"),
    ("jdbc:h2:mem:x", "jdbc:h2", "a database within the worker's processes"),
    ("jdbc:h\\2:mem:x", "jdbc:h2", "a database within the worker's processes"),
    ("jdbc:p6spy:h2:/x", "jdbc:h2", "a database within the worker's processes"),
    ("JDBC:HSQLDB:mem:x", "jdbc:hsqldb", "a database within the worker's processes"),
    ("jdbc:derby:memory:x;create=true", "jdbc:derby", "a database within the worker's processes"),
    ("jdbc:duckdb:", "jdbc:duckdb", "a database within the worker's processes"),
    (
        "mongodb://u@h:1,x.mongodb.net/d?authMechanism=MONGODB-OIDC&authMechanismProperties=TOKEN_RESOURCE:x,ENVIRONMENT:k8s",
        "authmechanismproperties",
        LOGIN,
    ),
    ("mongodb+srv://h/?authMechanismProperties=%45NVIRONMENT%3Aazure", "authmechanismproperties", LOGIN),
)


@pytest.mark.parametrize(("url", "part", "reason"), URLS, ids=[url for url, _, _ in URLS])
def test_what_is_dangerous_in_a_url(url: str, part: str, reason: str) -> None:
    found = {danger.part: danger.reason for danger in dangers("connection.url", url)}
    assert reason in found[part]
    assert part not in [danger.part for danger in dangers("connection.url", url, [part])], "the worker's file allows it"


@pytest.mark.parametrize("name", ["loader", "jdbc", "oracle:thin"])
def test_parameters_that_come_from_elsewhere(name: str) -> None:
    found = list(dangers("connection.url", f"jdbc:{name}:@config-https://evil.example/x"))
    assert bool(found) == (name == "oracle:thin")


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:mariadb://h/d?sslMode=verify-full&applicationName=com.acme.orders.Sink",
        "jdbc:sqlserver://x.database.windows.net:1433;databaseName=My.Db;authentication=ActiveDirectoryManagedIdentity",
        "jdbc:sqlserver://h;authentication=ActiveDirectoryServicePrincipal",
        "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=h)(PORT=1522))(CONNECT_DATA=(SERVICE_NAME=a.b.c)))",
        "jdbc:snowflake://h/?authenticator=snowflake_jwt",
        "jdbc:aws-wrapper:postgresql://h/d?wrapperPlugins=failover,efm",
        "jdbc:redshift:iam://c.x.eu-west-1.redshift.amazonaws.com:5439/d",
        "jdbc:redshift:iam://c:eu-west-1/d",
        "jdbc:postgresql:///d?cloudSqlInstance=a:b:c&socketFactory=com.google.cloud.sql.postgres.SocketFactory&enableIamAuth=true",
        "jdbc:bigquery://https://www.googleapis.com/bigquery/v2:443;ProjectId=x;OAuthType=3",
        "jdbc:cloudspanner:/projects/p/instances/i/databases/d",
        "jdbc:cloudspanner://h:443/projects/p/instances/i/databases/d;credentials=/keys/x.json",
        "mongodb://key:secret@h/?authMechanism=MONGODB-AWS",
        "mongodb+srv://c.x.mongodb.net/?authMechanism=MONGODB-AWS&authSource=$external",
        "jdbc:h2:tcp://h/~/d",
        "jdbc:hsqldb:hsql://h/d",
        "jdbc:derby://h:1527/d",
        "jdbc:sqlite:/var/x.db",
        "jdbc:postgresql://h2:5432/derby?currentSchema=public.Orders",
        "mongodb+srv://c.x.mongodb.net/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:gcp,TOKEN_RESOURCE:x",
        "mongodb://u:p@h/?authMechanism=SCRAM-SHA-256&authMechanismProperties=SERVICE_NAME:x",
    ],
)
def test_what_is_ordinary(url: str) -> None:
    assert list(dangers("connection.url", url)) == []


SETTINGS = (
    ("hibernate.jndi.url", "ldap://evil.example/x", "hibernate.jndi.url"),
    ("hibernate.connection.datasource", "x", "hibernate.connection.datasource"),
    ("hibernate.connection.provider_class", "com.acme.jdbc.Pool", "hibernate.connection.provider_class"),
    ("hibernate.connection.credentialType", "ENV", "credentialtype"),
    ("hibernate.connection.url", "jdbc:h2:mem:x", "jdbc:h2"),
    ("hibernate.agroal.jdbcProperties", "a=b;credentialType=ENV;userKey=A", "credentialtype"),
    ("connection.properties", "a=b\nautoDeserialize=true", "autodeserialize"),
    ("driver.authentication", "ActiveDirectoryMSI", "authentication"),
    ("connection.oracle.jdbc.tokenLocation", "/t", "tokenlocation"),
    ("connection.oracle.jdbc.provider.password", "ojdbc-provider-x", "oracle.jdbc.provider.password"),
    ("hibernate.c3p0.userOverridesAsString", "HexAsciiSerializedMap:aced;", "useroverridesasstring"),
    ("hibernate.hbm2ddl.import_files", "/etc/passwd", "hibernate.hbm2ddl.import_files"),
)


@pytest.mark.parametrize(("name", "value", "part"), SETTINGS)
def test_what_is_dangerous_as_a_setting(name: str, value: str, part: str) -> None:
    assert [danger.part for danger in dangers(name, value)] == [part]
    assert list(dangers(name, value, [part])) == []


AZURE = "com.azure.identity.extensions.jdbc.postgresql.AzurePostgresqlAuthenticationPlugin"
PLUGIN = f"?authenticationPluginClassName={AZURE}"


@pytest.mark.parametrize(
    ("config", "is_refused"),
    [
        ({"connection.url": f"jdbc:postgresql://evil.example/d{PLUGIN}"}, True),
        ({"connection.url": f"jdbc:postgresql://x.postgres.database.azure.com.evil.example/d{PLUGIN}"}, True),
        ({"connection.url": f"jdbc:postgresql://evil.example/x.postgres.database.azure.com{PLUGIN}"}, True),
        ({"connection.url": f"jdbc:postgresql://x.postgres.database.azure.com,evil.example/d{PLUGIN}"}, True),
        ({"connection.url": f"jdbc:postgresql://x.postgres.database.azure.com/d{PLUGIN}&PGHOST=evil.example"}, True),
        ({"connection.url": f"jdbc:mysql://address=(host=evil.example)/d{PLUGIN}"}, True),
        ({"driver.authenticationPluginClassName": AZURE, "database.hostname": "evil.example"}, True),
        ({"driver.authenticationPluginClassName": AZURE}, True),
        ({"connection.url": f"jdbc:postgresql://x.postgres.database.azure.com:5432/d{PLUGIN}&sslmode=require"}, False),
        ({"driver.authenticationPluginClassName": AZURE, "database.hostname": "x.postgres.database.azure.com"}, False),
    ],
)
def test_azures_login_goes_to_azures_databases_only(config: dict[str, str], is_refused: bool) -> None:
    assert {danger.part for danger in of_config(config)} == ({"com.azure.identity"} if is_refused else set())
    assert list(of_config(config, ["com.azure.identity"])) == []


def test_ordinary_settings_of_hibernate() -> None:
    for name, value in (
        ("hibernate.dialect", "org.hibernate.dialect.MySQLDialect"),
        ("hibernate.jdbc.batch_size", "50"),
        ("hibernate.session_factory_name_is_jndi", "false"),
        ("hibernate.connection.provider_class", "org.hibernate.agroal.internal.AgroalConnectionProvider"),
    ):
        assert list(dangers(name, value)) == []
    assert list(dangers("mongodb.authentication", "SCRAM")) == []


def test_a_long_url_does_not_take_long() -> None:
    texts = ("a&", "authMechanismProperties=", "wrapperPlugins=", "wrapperPlugins=a,", "a:", "a.")
    began = time.monotonic()
    for text in texts:
        for start in ("jdbc:x://h?", "mongodb://h/?", "jdbc:"):
            assert list(dangers("connection.url", start + text * (400_000 // len(text)))) == []
    assert time.monotonic() - began < 60, "a second is enough, where a pattern took hours"
