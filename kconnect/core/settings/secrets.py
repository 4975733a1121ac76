"""
Which settings are secret by their names, and how their values are kept out of texts.

A last line of defence for logs (`worker/logs.py`) and for the messages of plugin code (`plugins/sandbox_child.py`): what
is known to be secret is declared with type PASSWORD, or not written down at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from kconnect.api.config import HIDDEN

_NAME = re.compile(
    r"password|passphrase|passwd|secret|token|credential|jaas|private|keystore\.key|key\.pem|basic\.auth\.user\.info"
    r"|(api|access|account|shared|encryption|ssl)[._-]?key\b",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(r"token\.endpoint\.url|\.(class|type|location|ms|seconds|enable|algorithm|file)$", re.IGNORECASE)
_PLAIN = frozenset(("true", "false", "none", "null"))


def is_secret(name: str) -> bool:
    """Whether a setting of that name probably holds a secret."""
    return _NAME.search(name) is not None and _NOT_SECRET.search(name) is None


def values(properties: Mapping[str, object]) -> set[str]:
    """The secret values of a config, in all their forms. Ones under four characters would blot out half of every text."""
    texts = {str(value) for name, value in properties.items() if value is not None and is_secret(name)}
    long = {text for text in texts if len(text) >= 4 and text.lower() not in _PLAIN}
    return {form for text in long for form in forms(text)}


def forms(value: str) -> set[str]:
    """A value as it is, in a Python repr, in a JSON string, and in one inside the other."""
    plain = (value, repr(value)[1:-1])
    return {*plain, *(json.dumps(text, ensure_ascii=False)[1:-1] for text in plain)}


def hide(text: str, secrets: Iterable[str]) -> str:
    """The text with each secret replaced, the longest first: one may be part of another."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text
