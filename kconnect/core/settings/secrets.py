"""
Which settings are secret by their names, and how their values are kept out of texts.

A last line of defence for logs (`processes/logs.py`) and for the messages of plugin code (`plugins/sandbox_child.py`): what
is known to be secret is declared with type PASSWORD, or not written down at all. Read next: `data/secret_texts.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from kconnect.api.config import HIDDEN
from kconnect.core.settings import references
from kconnect.data.secret_texts import forms as forms
from kconnect.data.secret_texts import hide as hide
from kconnect.errors import BadRequestError

_NAME = re.compile(
    r"password|passphrase|passwd|secret|token|credential|jaas|private|keystore\.key|key\.pem|basic\.auth\.user\.info"
    r"|(api|access|account|shared|encryption|ssl|sas|customer)[._-]?key\b|(?<![a-z])(pass|pwd)(?![a-z])|authorization"
    # HttpSink's and HttpSource's, and those of others: a token, mostly. Transforms name headers of records so.
    r"|^((opentelemetry|http|request|custom)[._])?headers$",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(
    r"token\.(endpoint\.)?url|\.(class|type|location|ms|seconds|enabled?|algorithm|file|source|property)$", re.IGNORECASE
)
_IN_URL = re.compile(r"://[^/\s:@]*:([^/\s@]+)@|[?&;]\w*(?:password|passwd|pwd|secret|token)=([^&;\s\"']+)", re.IGNORECASE)
"""What a URL may hold of secrets: after the user's name, or as a parameter."""
_MOST = 1000
_MOST_SEARCHED, _BESIDES = 4 * 2**20, 500
"""
In characters, once for each secret in a URL, with what it takes besides: the URLs of a config whose search would take longer
are hidden as a whole.
"""


def is_secret(name: str) -> bool:
    """Whether a setting of that name probably holds a secret."""
    return _NAME.search(name) is not None and _NOT_SECRET.search(name) is None


def values(properties: Mapping[str, object]) -> set[str]:
    """The secret values of a config, and those in its URLs, in all their forms."""
    return {form for part in plain(properties) for form in forms(part)}


def plain(properties: Mapping[str, object]) -> set[str]:
    """The same, as the config has them. A reference is none: it may be shown."""
    parts: set[str] = set()
    for name, value in properties.items():
        if value is None:
            continue
        if is_secret(name):
            parts.update(references.literals(str(value)))
        elif "://" in str(value):
            in_urls = (in_urls for part in references.literals(str(value)) for in_urls in _IN_URL.findall(part))
            parts.update(form for groups in in_urls for text in groups for form in (text, unquote(text)))
    return {part for part in parts if references.telling(part)}


def require_few(properties: Mapping[str, object]) -> None:
    """
    Raise BadRequestError for a config with very many secrets. A worker that has a process look at a config knows each of them
    in all its forms, and looks for them in what the process prints.
    """
    count = len(plain(properties))
    if count > _MOST:
        raise BadRequestError(f"The config has {count:,} secrets, of which {_MOST:,} are possible: leave some out")


def masked(properties: Mapping[str, str | None]) -> dict[str, str | None]:
    """A config as it may be shown: what may be secret is hidden, also in URLs. References stay: they tell no secret."""
    shown: dict[str, str | None] = {}
    left = _MOST_SEARCHED
    for name, value in properties.items():
        if value and is_secret(name) and any(part.strip() for part in references.literals(value)):
            shown[name] = HIDDEN
            continue
        found = plain({name: value})
        # Each of them is looked for in the whole text, in all its forms.
        left -= len(found) * (len(value or "") + _BESIDES)
        shown[name] = HIDDEN if found and left < 0 else value and hide(value, values({name: value}))
    return shown
