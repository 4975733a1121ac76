"""
Kafka's own gates in a JVM, set by the same list as ours: what Java's clients may not do, whatever a plugin hands to them.

The properties are those of Kafka 4.3's clients, which plugins share with the framework. `jvm/machine.py` closes the gates of
every JVM; `WorkerSettings.java` opens those that the worker's file opens. A property that `java.host.opts` names is the
operator's alone. Read next: `unsafe.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kconnect.core.settings.unsafe import MODULES

ALLOWED_MODULES = "org.apache.kafka.allowed.login.modules"
"""The classes that a login may name. Where it is set, Kafka does not look at the older list of the disallowed."""
DISALLOWED_MODULES = "org.apache.kafka.disallowed.login.modules"
URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
FILES = "org.apache.kafka.sasl.oauthbearer.allowed.files"
"""The addresses and files that OAuth logins may use, one by one. The empty text, as Kafka has it by default, allows none."""
PROVIDERS = "org.apache.kafka.automatic.config.providers"
"""
The config providers that a config of a client or a connector may itself bring along, to read files and variables of this
process. Kafka's default is all; `none` allows none. Those that the worker's file names are not meant.
"""

_CLOSED = {ALLOWED_MODULES: ",".join(MODULES), URLS: "", FILES: "", PROVIDERS: "none"}
_KAFKAS_PROVIDERS = ",".join(
    f"org.apache.kafka.common.config.provider.{name}"
    for name in ("FileConfigProvider", "DirectoryConfigProvider", "EnvVarConfigProvider")
)


def flags(options: Iterable[str]) -> list[str]:
    """Return the options that close the gates which none of these options is about."""
    named = {option[2:].partition("=")[0] for option in options if option.startswith("-D")}
    if DISALLOWED_MODULES in named:
        named.add(ALLOWED_MODULES)
    return [f"-D{name}={value}" for name, value in _CLOSED.items() if name not in named]


def opened(unsafe: Sequence[str]) -> list[str]:
    """
    Return the options that open gates for the settings that the worker's file allows. For URLs and files Kafka knows no "all":
    `java.host.opts` names each.
    """
    options = []
    if "sasl.jaas.config" in unsafe:
        options.append(f"-D{DISALLOWED_MODULES}=")
    if "config.providers" in unsafe:
        options.append(f"-D{PROVIDERS}={_KAFKAS_PROVIDERS}")
    return options
