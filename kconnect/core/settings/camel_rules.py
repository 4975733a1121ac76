"""
What a config may not have of Apache Camel's connectors: texts in which Camel finds more than a text.

Camel makes objects of `#class:…`, with a constructor or a method that the text names. It replaces `{{env:NAME}}` wherever it
stands, and evaluates `${…}` in the options of its addresses. So a config could run code, and read each variable of the process.
Called by `unsafe.py` with every setting of a config. Read next: `database_rules.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

_CLASS = re.compile(r"#class:(?P<rest>.{0,200})", re.DOTALL)
_CAMELS = re.compile(r"org\.apache\.camel\.[\w.$]+(?![\w.$#(])", re.ASCII)
_FACTORIES = re.compile(
    r"(org\.apache\.activemq\.(artemis\.jms\.client\.)?|org\.apache\.qpid\.jms\.|com\.ibm\.mq\.(jakarta\.)?jms\."
    r"|org\.messaginghub\.pooled\.jms\.|com\.rabbitmq\.client\.)\w*ConnectionFactory(?![\w.$#(])",
    re.ASCII,
)
"""Factories of connections that Camel's documentation names. What they connect to is a setting of its own."""
_SCHEME = re.compile(r"(bean|class|language|exec|groovy|script)\W", re.IGNORECASE)
"""Of addresses that say themselves what is run."""
_EXPRESSION = re.compile(r"\$(?P<name>simple)?\{(?P<inner>[^}$]{0,200})", re.IGNORECASE)
_OF_DATA = re.compile(
    r"(random\([\d, ]+\)|(mandatory)?body(as)?|(in\.)?headers?|date(-with-timezone)?|file|id|messageid|exchangeid|routeid"
    r"|camelid|exchangeproperty|uuid|messagetimestamp)(?![\w(-])(?!.*(class|\())",
    re.IGNORECASE | re.DOTALL,
)
"""Expressions that give what is in a record, a name of a file or a time."""


def dangers(name: str, value: str) -> Iterator[tuple[str, str]]:
    """
    Yield what is dangerous about a setting: the name by which the worker's list allows it, and why. `name` is in lower case.
    """
    if not name.startswith("camel."):
        return
    if name in ("camel.source.url", "camel.sink.url") and _SCHEME.match(value.strip()):
        yield "camel.code", "has Camel run what the address says"
    # Camel decodes the options of addresses, and some of them twice.
    for text in dict.fromkeys((value, unquote(value), unquote(unquote(value)))):
        classes = [match["rest"].strip() for match in _CLASS.finditer(text)]
        if not all(_CAMELS.match(name) or _FACTORIES.match(name) for name in classes):
            yield "camel.class", "makes Camel load a class that is not its own, or call what the text names"
        if "{{" in text:
            yield "camel.placeholders", "has Camel put variables of the process into it ({{…}})"
        if any(_is_expression(match, text == value) for match in _EXPRESSION.finditer(text)):
            yield "camel.expressions", "has Camel evaluate more than what is in a record (${…})"


def _is_expression(match: re.Match[str], is_raw: bool) -> bool:
    """Return whether Camel would evaluate more than a record for this."""
    # With a colon it is a reference of this product's, which is replaced or refused, unless it was encoded.
    is_reference = is_raw and match["name"] is None and ":" in match["inner"]
    return not is_reference and _OF_DATA.match(match["inner"].strip()) is None
