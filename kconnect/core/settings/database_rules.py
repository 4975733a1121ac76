"""
What a config may not have of a database's driver: in a URL of JDBC or MongoDB, and as settings under any prefix.

Drivers in Java load classes, read files and variables, run commands, and log in as the machine does, if a parameter says so.
Some are the database themselves, within the process that all connectors in Java share. Called by `unsafe.py` with every setting
of a config. The parameters of the drivers in Python are in `connectors/databases.py`. Read next: `rule.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from kconnect.core.settings.rule import Rule, off, only_of

_DRIVERS = (
    "org.postgresql.ssl.",
    "com.mysql.cj.",
    "com.amazon.redshift.",
    "com.google.cloud.sql.",
    "com.azure.identity.extensions.jdbc.",
)
_HIBERNATES = ("org.hibernate.", "io.debezium.")
_LONGEST = 200
_LOADS = "makes a database's driver load a class that is not its own"
_LOGIN = (
    "has a database's driver send the machine's own login, or variables of the process, to the server that the config names"
)
_SENDS = "has a database's driver send one of the worker's files"
_WRITES = "writes files on the worker's machine"
_CLASS = re.compile(r"(?:[a-z_]\w*\.){2,}[A-Z][\w$]*", re.ASCII)
"""A name of a class in Java: nothing else in a driver's parameters looks so."""
_MACHINES = re.compile(r"active_?directory_?(managed_?identity|msi|default|workload_?identity)", re.IGNORECASE)
_WRAPPERS = re.compile(r"\b(iam|awssecretsmanager\w*|federatedauth|okta)\b", re.IGNORECASE)


RULES = (
    Rule(
        r"socketfactory(arg|class|constructorarg)?|sslfactory|sslhostnameverifier|sslpasswordcallback|authenticationpluginclassname"
        r"|trustmanagerclass|accesstokencallbackclass|propertiestransform|clientinfoprovider|xmlfactoryfactory|plugin_?name"
        r"|loadbalance(strategy|exceptionchecker)|(parseinfo|serverconfig|queryinfo)cachefactory|profilereventhandler|logger"
        r"|(default)?authenticationplugins?|authentication(fido|webauthn|openidconnect)callbackhandler|httpclient_(impl|factory)"
        r"|dnsresolver|load_?balancing_?policy",
        _LOADS,
        only_of(*_DRIVERS),
        java=True,
    ),
    Rule(
        r"(query|statement|connectionlifecycle|exception)interceptors|autodeserialize|clientreroutejndiname"
        r"|clientrerouteserverlistjndiname",
        "has a database's driver run what the server answers, or code that it names",
        off,
        java=True,
    ),
    Rule(
        r"allow(load)?localinfile|allowloadlocalinfileinpath|allowurlinlocalinfile|serverrsapublickeyfile"
        r"|(volumeoperation|staging)allowedlocalpaths",
        "lets a database's server read the worker's files",
        off,
        java=True,
    ),
    Rule(r"logger\.?file|(protocol)?tracefile|tracedir(ectory)?|log_?path|sqlidebug", _WRITES, java=True),
    Rule(r"idtokenfile|token_?file(_?path)?|token_?location|initfile", _SENDS, java=True),
    # MariaDB's: any variable of the process, or property of the JVM, that userKey and pwdKey name.
    Rule(r"credentialtype", _LOGIN, lambda value: value.lower() not in ("env", "property", "aws-iam"), java=True),
    Rule(r"authentication", _LOGIN, lambda value: _MACHINES.search(value) is None, java=True),
    Rule(r"token_?auth(entication)?", _LOGIN, lambda value: value.lower() in ("", "none", "oauth"), java=True),
    Rule(r"authenticator", _LOGIN, lambda value: "workload_identity" not in value.lower(), java=True),
    Rule(r"wrapperplugins", _LOGIN, lambda value: _WRAPPERS.search(value) is None, java=True),
    # Where Google's own library asks for the address of a database, with the machine's token.
    Rule(r"cloudsql(admin(rooturl|servicepath)|universedomain)|alloydbadminserviceendpoint", _LOGIN, java=True),
    Rule(r"iamauth", _LOGIN, off, java=True),
    Rule(r"auth_?flow", _LOGIN, lambda value: value != "3", java=True),
    Rule(r"oracle\.jdbc\.provider\..+", _LOGIN, java=True),
    Rule("useroverridesasstring", "has a pool make objects of what the text holds, which may be code", java=True),
    Rule("enable_load_extension", "lets queries load native code", off, java=True),
    # Debezium's JDBC sink hands these on.
    Rule(
        r"hibernate\.(jndi\..+|connection\.datasource|.*jndi_?name)",
        "has Hibernate ask an address for objects, which may be code",
        java=True,
    ),
    Rule(r"hibernate\.hbm2ddl\.import_files", _SENDS, java=True),
    Rule(
        r"hibernate\..+",
        "makes Hibernate load a class that is not its own",
        lambda value: not any(_CLASS.fullmatch(name) and not name.startswith(_HIBERNATES) for name in value.split(",")),
        java=True,
    ),
)
_KNOWN = re.compile("|".join(f"(?:{rule.name})" for rule in RULES))
_UP_TO_LAST = re.compile(r".*[.:/]", re.DOTALL)
_LOADING = re.compile(r"jdbc:((\w+:)?jndi:|sqlite::resource:|ignite:cfg:|calcite:|jcr:|oracle:\w+:@config-)")
"""Of these the URL itself names what is fetched and loaded, or where the other parameters come from."""
_EMBEDDED = re.compile(r"jdbc:(?:[\w-]+:)*?(?P<kind>h2:(?!tcp:|ssl:)|hsqldb:(?!hsqls?:|https?:)|derby:(?!//)|duckdb:)")
"""Databases within the process that asks them. SQLite is none of these: its queries run no code and open no file."""
_AMAZONS = re.compile(r"jdbc:redshift:iam://(?![\w-]+:[\w-]+(?:[/;?]|$)|[\w.-]+\.amazonaws\.com(?:\.cn)?[:/;?])")
"""Redshift's passwords are made with the machine's login. So a cluster and its region are named, or one of Amazon's hosts."""
_AZURES = re.compile(
    r"jdbc:sqlserver://[\w.-]+\.(database\.(windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)|sql\.azuresynapse\.net"
    r"|database\.fabric\.microsoft\.com)(:\d+)?(?:;|$)"
)
_AZURE_PLUGIN = "com.azure.identity."
_AZURE_DATABASE = r"[\w-]+\.(postgres|mysql|mariadb)\.database\.(azure\.com|chinacloudapi\.cn|usgovcloudapi\.net)(:\d+)?"
_AZURE_HOST = re.compile(_AZURE_DATABASE, re.IGNORECASE)
_AZURE_URL = re.compile(rf"jdbc:\w+://{_AZURE_DATABASE}([/?].*)?", re.IGNORECASE | re.DOTALL)
_HOST_SETTING = re.compile(r"(?:.*\.)?(?:(pg)?host|hostname|server(name)?)", re.IGNORECASE)
_BIGQUERY = re.compile(r"jdbc:bigquery:.*[;&]\s*oauthtype\s*=\s*3", re.DOTALL)
_GOOGLES_BIGQUERY = re.compile(
    r"jdbc:bigquery://https://([\w-]+\.)*googleapis\.com(/bigquery/v2)?(:443)?(;|$)(?!.*(root_?url|endpoint))", re.DOTALL
)
_SPANNER = re.compile(r"jdbc:(cloud)?spanner:(?=//)(?!//([\w-]+\.)*(googleapis\.com|localhost|127\.[\d.]+)(:\d+)?/)", re.DOTALL)
_OTHER_HOSTS = re.compile(r"((pg)?host|server(name)?|failoverpartner)\s*=")
_MONGO = re.compile(r"mongodb(\+srv)?://(?P<hosts>[^/?]*)(?P<rest>.*)", re.DOTALL)
_SPELLINGS = str.maketrans("\u0130\u0131\u017f\u212a", "iisk", "\\")
"""What Java takes for the same letter where it ignores case; and H2 drops backslashes."""
_TRIMMED = "".join(map(chr, range(33)))
_BETWEEN = re.compile(r"[?&;,()\r\n]")
_LISTS = re.compile(
    r"(?:.*[._-])?(jdbc|connection|driver|data_?source|database|pool)[._-]?(connection)?[._-]?(properties|props|parameters|options)"
)
"""Settings with parameters of a driver, such as `hibernate.agroal.jdbcProperties`."""
_INIT = "has the database run commands when it is connected to"
_NO_CLASSES = ("applicationname", "application_name", "programname", "user", "password", "source")


def plain(name: str) -> str:
    """Return a name as drivers and connectors may read it that ignore case and tidy it up."""
    return name.strip().translate(_SPELLINGS).lower()


def of_url(setting: str, value: str) -> Iterator[tuple[str, str]]:
    """
    Yield what is dangerous about the URL of a database, or a list of its parameters: the name by which the worker's list allows
    it, and why. Nothing for what is neither.
    """
    url = value.strip().strip(_TRIMMED)
    low = url.lower()
    if _LISTS.fullmatch(plain(setting)[-_LONGEST:]):
        for parameter, reason in _parameters(url):
            yield parameter, f"has the parameter {parameter}, which {reason}"
    if low.startswith("jdbc:"):
        yield from _of_jdbc(setting, url, low)
    elif low.startswith("mongodb"):
        yield from _of_mongodb(unquote(unquote(url)).lower())


def of_config(config: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """
    Yield the settings by which a driver logs in by Azure's plugin to hosts that are not Azure's databases: setting, name and
    reason. The host may stand in another setting than the plugin.
    """
    by_plugin = [name for name, text in config.items() if _AZURE_PLUGIN in unquote(unquote(text))]
    if not by_plugin:
        return
    hosts = [_AZURE_HOST.fullmatch(text.strip()) for name, text in config.items() if _HOST_SETTING.fullmatch(name.strip())]
    for text in config.values():
        if text.strip().lower().startswith("jdbc:"):
            other_hosts = _OTHER_HOSTS.search(unquote(unquote(text)).lower())
            hosts.append(None if other_hosts else _AZURE_URL.fullmatch(text.strip()))
    if not hosts or not all(hosts):
        for name in by_plugin:
            yield name, _AZURE_PLUGIN.rstrip("."), _LOGIN


def _of_jdbc(setting: str, url: str, low: str) -> Iterator[tuple[str, str]]:
    if _LOADING.match(low):
        yield setting, "makes a database's driver load what is at an address"
    embedded = _EMBEDDED.match(low.replace("\\", ""))
    if embedded is not None:
        yield (
            f"jdbc:{embedded['kind'].rstrip(':')}",
            "runs a database within the worker's processes, where each query may run code, and read and write files",
        )
    if _AMAZONS.match(low):
        yield "jdbc:redshift:iam", _LOGIN
    decoded = unquote(unquote(low))
    if (_BIGQUERY.match(decoded) and not _GOOGLES_BIGQUERY.match(decoded)) or (
        _SPANNER.match(decoded) and not re.search(r"[;?]\s*(encoded)?credentials\s*=\s*[^;\s]", decoded)
    ):
        yield "jdbc:google", _LOGIN
    if "oracle.jdbc.provider." in decoded:
        yield "oracle.jdbc.provider", _LOGIN
    is_azures = _AZURES.match(low) is not None and _OTHER_HOSTS.search(unquote(low)) is None
    for parameter, reason in _parameters(url):
        if not (is_azures and parameter == "authentication"):
            yield parameter, f"has the parameter {parameter}, which {reason}"


def _parameters(url: str) -> Iterator[tuple[str, str]]:
    """
    Yield the dangerous parameters of a URL of JDBC. Drivers decode percent signs, and some do so twice, so the text is looked
    at as they see it.
    """
    once = unquote(url)
    for text in dict.fromkeys((once, unquote(once))):
        # Their list has commas, too.
        if any(_WRAPPERS.search(plugins) for plugins in re.findall(r"wrapperplugins=([^&;]*)", text, re.IGNORECASE)):
            yield "wrapperplugins", _LOGIN
        for part in dict.fromkeys(_BETWEEN.split(text)):
            name, _, value = part.partition("=")
            value = value.strip()
            last = _UP_TO_LAST.sub("", plain(name.strip().strip(_TRIMMED))[-_LONGEST:])
            if not last:
                continue
            is_known = _KNOWN.fullmatch(last) is not None
            for rule in RULES if is_known else ():
                if re.fullmatch(rule.name, last) and not rule.harmless(value):
                    yield last, rule.reason
            if last == "init" and text.lower().startswith("jdbc:h2:"):
                yield last, _INIT
            is_class = len(value) <= _LONGEST and _CLASS.fullmatch(value) is not None
            if is_class and not is_known and last not in _NO_CLASSES and not value.startswith(_DRIVERS):
                yield last, _LOADS


def _of_mongodb(text: str) -> Iterator[tuple[str, str]]:
    """The text is in lower case, and decoded."""
    match = _MONGO.match(text)
    if match is None:
        return
    login, _, servers = match["hosts"].rpartition("@")
    hosts = [host.partition(":")[0] for host in servers.split(",")]
    if all(host.endswith((".mongodb.net", ".docdb.amazonaws.com", ".docdb.amazonaws.com.cn")) for host in hosts):
        return
    for name, _, value in (part.partition("=") for part in re.split("[?&;]", match["rest"])):
        name = name.strip()
        by_environment = name == "authmechanismproperties" and "environment" in value
        # Without a key in the address the driver signs as the machine, and whoever is asked may pass it on.
        if by_environment or (name == "authmechanism" and value.strip() == "mongodb-aws" and not login):
            yield name, f"has the parameter {name}, which {_LOGIN}"
