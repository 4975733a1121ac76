"""
Normal forms of Unicode, and addresses, which Python brings into one, of texts that others have written.

To put the marks above and below one letter in order takes Python time by the square of their number, in one call that holds the
interpreter's lock, so that nothing else runs in the process: a hundred thousand take half a minute. So nobody calls
`unicodedata.normalize`, or for an address of others `urlsplit` and `urljoin`, which call it for a host that is not ASCII.
"""

from __future__ import annotations

import re
import unicodedata
import urllib.parse
from typing import Literal

_IGNORED = re.compile(r"[\t\r\n]")
_END_OF_HOST = re.compile(r"[/?#]")
Form = Literal["NFC", "NFKC"]
MOST_MARKS = 30
"""So many marks a letter may have, by Unicode's own rule for texts that can be read piece by piece (UAX #15, 13)."""


def check(text: str) -> None:
    """Raise ValueError for a text with a letter of more marks than `MOST_MARKS`. Takes time by its length."""
    if text.isascii():
        return
    marks = {letter for letter in set(text) if _is_mark(letter)}
    if not marks:
        return
    count = 0
    for letter in text:
        count = count + 1 if letter in marks else 0
        if count > MOST_MARKS:
            raise ValueError(f"a letter has more than {MOST_MARKS} marks above and below it")


def normalized(form: Form, text: str) -> str:
    """Return the text in a form (NFC, NFKC). ValueError as for `check`."""
    check(text)
    return unicodedata.normalize(form, text)


def by_letter(form: Form, text: str) -> str:
    """Return the text with each letter in a form by itself: what is one letter of several stays several. Never fails."""
    return text.translate({ord(letter): unicodedata.normalize(form, letter) for letter in set(text) if not letter.isascii()})


def check_host(url: str) -> None:
    """Raise ValueError, as `check` does, for an address that has such a host. For who hands it on to a library."""
    if not url.isascii():
        # As parsers of addresses do, which pass over these.
        check(_END_OF_HOST.split(_IGNORED.sub("", url).partition("//")[2], maxsplit=1)[0])


def split(url: str) -> urllib.parse.SplitResult:
    """Return the parts of an address, as `urlsplit` does. ValueError for one that is none, and for a host as for `check`."""
    check_host(url)
    return urllib.parse.urlsplit(url)


def joined(base: str, url: str) -> str:
    """Return the address that one on the page `base` means, as `urljoin` does. ValueError as for `split`."""
    check_host(base)
    check_host(url)
    return urllib.parse.urljoin(base, url)


def _is_mark(letter: str) -> bool:
    """Whether it stands behind another letter, or is made of what does, though it says of itself that it does not."""
    return unicodedata.combining(unicodedata.normalize("NFKD", letter)[0]) != 0
