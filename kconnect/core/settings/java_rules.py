"""
What a config may not have of Java's connectors in general: texts by which Java or a broker runs code.

Connectors of message queues look names up in JNDI, which loads objects from the address that a name has. ActiveMQ's addresses
can start a broker within the process, from a file of beans. Called by `unsafe.py` with every setting of a config. Read next:
`script_rules.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from kconnect.core.settings.rule import Rule

RULES = (Rule(r"jvm\.proxy\.host", "sets a proxy for all connectors in Java of its process", java=True),)
_LOOKED_UP = re.compile(r"\s*(ldaps?|rmi|iiop(name)?|corba(name|loc)):", re.IGNORECASE)
_NAMING = re.compile(r"(?:.*\.)?java\.naming\..+", re.DOTALL)
_JDKS = ("com.sun.jndi.", "com.sun.enterprise.")
_BROKER = re.compile(r"(?<![\w.])(xbean:|brokerconfig=|vm:(?=[/(]))", re.IGNORECASE)


def dangers(name: str, value: str) -> Iterator[tuple[str, str]]:
    """
    Yield what is dangerous about a setting: the name by which the worker's list allows it, and why. `name` is in lower case.
    """
    is_naming = _NAMING.fullmatch(name[-200:]) is not None
    is_jdks = is_naming and any(text.strip().startswith(_JDKS) for text in value.split(":"))
    # A connector of directories has such an address of its own; for Hibernate's names there are rules of databases.
    if is_jdks or (_LOOKED_UP.match(value) and (is_naming or not ("ldap" in name or name.startswith("hibernate.")))):
        yield "jndi", "has Java ask an address for objects, which may be code"
    if ":" in value or "=" in value or "%" in value:
        for text in dict.fromkeys((value, unquote(value), unquote(unquote(value)))):
            if _BROKER.search(text):
                yield "activemq.broker", "starts a broker of ActiveMQ within the worker's processes, which may run code"
                return
