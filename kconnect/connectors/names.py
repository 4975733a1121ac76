"""
Names that records choose: a part of a path, a file, an index, a column, the value of a header.

Whoever may write a record to a topic chooses its key, its fields and their names. Here is decided which of them may become a
part of where the record goes: every other text is that record's fault, a DataError, and never an address that the config does
not name. Called by `http/address.py`, `http/requests.py`, `objects/files.py`, `search/actions.py` and `sql/tables.py`.
"""

from __future__ import annotations

import re
import unicodedata
import urllib.parse

from kconnect import normal_forms
from kconnect.api import DataError

_ROUNDS = 5
"""How many times a server behind a proxy behind a proxy may decode a path."""
_ODD = re.compile(r"%u00([0-9a-f]{2})|%(?:c0|e0%80)%(ae|af)", re.IGNORECASE)
"""Spellings of a byte that old servers understand: by its number in UTF-16, and longer than UTF-8 has it."""
_LONGEST_SEGMENT = 8192
"""Servers take less."""
_SEPARATORS = re.compile(r"[/\\]")
_SHOWN = 60
_LONGEST_LINE = 500
_LONGEST_HEADER = 16 * 1024
"""Most servers refuse more, and take the connection away with the other requests on it."""
_FORBIDDEN_IN_INDEX = frozenset('\\/*?"<>|,#: ')
_LONGEST_INDEX = 255
_FORBIDDEN_IN_TABLE = frozenset("/\\?#%*:;&<>|'\"`")
_LONGEST_TABLE = 200
"""The folder of a table has a random part, too, in most catalogs."""
_INVISIBLE = ("Cc", "Zl", "Zp")
"""The categories of characters that end a line, or do what nobody sees: libraries and servers disagree on names with them."""
_LONGEST_KEY, _LONGEST_FILE = 1024, 255
"""In bytes: the key of an object in S3, GCS and Azure; a name in a folder of a disk or of HDFS."""


def shown(text: str) -> str:
    """Return the begin of a name as a message can have it: in one line, without characters that are not visible."""
    plain = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return ascii(plain) if not plain.isprintable() else f"'{plain}'"


def printable(text: str) -> str:
    """Return what others have named or said as a line of a log can have it."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))[:_LONGEST_LINE]


def check_segment(text: str, empty: bool = False) -> None:
    """
    Raise DataError for the text of a path's segment, before it is quoted, that a server may resolve to another folder.

    That is a dot segment in whatever spelling: encoded once or several times, in wide characters, with parameters behind a
    semicolon, with blanks around it. With `empty`, a segment may be empty.
    """
    for form in _forms(text):
        pieces = _SEPARATORS.split(form)
        if any(_bare(piece) in (".", "..") for piece in pieces):
            raise DataError(
                f"{shown(text)} can't be a part of a path: a server may take it for the folder itself or the one above"
            )
        if not empty and not any(map(_bare, pieces)):
            raise DataError(
                f"{shown(text)} can't be a part of a path: it is empty there, which is the address of the whole folder"
            )
        if any(unicodedata.category(letter) == "Cc" for letter in form):
            raise DataError(f"{shown(text)} can't be a part of a path: it has control characters")


def _forms(text: str) -> list[str]:
    """The text, and what decoders make of it, one after the other. DataError if there is no end to that, or no UTF-8."""
    if len(text) > _LONGEST_SEGMENT:
        raise DataError(f"{shown(text)} can't be a part of a path: it has {len(text)} of {_LONGEST_SEGMENT} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError("A text with half a pair of surrogates can't be a part of a path") from None
    forms: list[str] = []
    for _ in range(_ROUNDS):
        form = _normal(text)
        forms += [text] if form == text else [text, form]
        plain = _ODD.sub(lambda match: f"%{match[1]}" if match[1] else {"ae": ".", "af": "/"}[match[2].lower()], form)
        decoded = urllib.parse.unquote(plain, errors="replace")
        if decoded == form:
            return forms
        text = decoded
    raise DataError(f"{shown(forms[0])} can't be a part of a path: it is encoded more than {_ROUNDS} times")


def _normal(text: str) -> str:
    try:
        return normal_forms.normalized("NFKC", text)
    except ValueError as error:
        raise DataError(f"{shown(text)} can't be a part of a path: {error}") from None


def _bare(piece: str) -> str:
    """Return what a lenient server compares: without parameters, and without blanks and invisible characters."""
    name = piece.partition(";")[0]
    return "".join(letter for letter in name if not letter.isspace() and unicodedata.category(letter) not in ("Cc", "Cf"))


def header_value(text: str) -> str:
    """Return the value of a header without blanks around it. DataError if a header can't have it."""
    trimmed = text.strip(" ")
    if not trimmed.isascii() or not trimmed.isprintable():
        raise DataError(
            f"The value {shown(trimmed)} can't be in a header: headers have visible ASCII characters only, and no line breaks. "
            "A transform can encode it"
        )
    if len(trimmed) > _LONGEST_HEADER:
        raise DataError(f"A value of {len(trimmed)} characters can't be in a header, which has {_LONGEST_HEADER} at most")
    return trimmed


def check_index(name: str, hidden: bool = False) -> None:
    """
    Raise DataError for the name of an index or a data stream that is none, or stands for several: wildcards, lists, `_all`,
    exclusions and date math. Names that begin with a dot are the cluster's own; `hidden` allows them.
    """
    problem = ""
    if not name or name in (".", "..") or name == "_all":
        problem = "it is no name of one index"
    elif name[0] in "-_+":
        problem = "it begins with -, _ or +"
    elif name[0] == "." and not hidden:
        problem = "it begins with a dot, as those of the cluster itself do"
    elif any(letter in _FORBIDDEN_IN_INDEX or not letter.isprintable() for letter in name):
        problem = "it has a blank or one of " + "".join(sorted(_FORBIDDEN_IN_INDEX - {" "}))
    elif name != name.lower():
        problem = "it has capital letters"
    elif len(name.encode(errors="surrogatepass")) > _LONGEST_INDEX:
        problem = f"it is longer than {_LONGEST_INDEX} bytes"
    if problem:
        raise DataError(f"{shown(name)} can't be an index: {problem}")


def check_file(path: str, in_folders: bool, empty: bool = False, around: int = 0) -> None:
    """
    Raise DataError for a part of a file's path, made by a record, that leaves its folder or is too long for the store.
    `in_folders`: the store is a disk or HDFS, whose names have an end; elsewhere the path is one name. With `empty`, there may
    be two slashes one after the other. The file's own name may have `around` bytes around it for a while.
    """
    segments = _SEPARATORS.split(path)
    for at, segment in enumerate(segments, 1):
        if segment.strip(" ") in (".", "..") or (not empty and not segment.strip(" ")):
            raise DataError(f"{shown(path)} can't be a file's path: the part {shown(segment)} may be another folder")
        if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in segment):
            raise DataError(f"{shown(path)} can't be a file's path: it has control characters or half a pair of surrogates")
        longest = _LONGEST_FILE - (around if at == len(segments) else 0)
        if in_folders and len(segment.encode()) > longest:
            raise DataError(f"{shown(segment)} can't be a file's name: it is longer than {longest} bytes")
    check_key(path)


def check_key(path: str) -> None:
    """Raise DataError for a path, or a part of it, that is longer than a store's name for a file may be."""
    if len(path.encode()) > _LONGEST_KEY:
        raise DataError(f"{shown(path)} can't be a file's path: it is longer than {_LONGEST_KEY} bytes")


def check_column(name: str, longest: int, unit: str = "bytes") -> None:
    """Raise DataError for a name that no column can have, in a database whose names have `longest` bytes or characters."""
    if not name or any(unicodedata.category(letter) in _INVISIBLE for letter in name):
        raise DataError(f"{shown(name)} can't be a column: its name is empty or has control characters")
    try:
        size = len(name.encode()) if unit == "bytes" else len(name)
    except UnicodeEncodeError:
        raise DataError(f"{shown(name)} can't be a column: its name has half a pair of surrogates") from None
    if size > longest:
        raise DataError(f"{shown(name)} can't be a column: its name has {size} {unit}, but the database takes {longest}")


def check_table(name: str) -> None:
    """
    Raise DataError for the name of a table of Iceberg that is a path, or a part of an address: catalogs make both of it, and
    quote neither. It has a namespace, a dot, and the name itself.
    """
    parts = name.split(".")
    if len(parts) < 2 or not all(part.strip() for part in parts):
        raise DataError(f"{shown(name)} can't be a table: it must have a namespace, a dot and a name")
    for letter in name:
        if letter in _FORBIDDEN_IN_TABLE or unicodedata.category(letter) in ("Cc", "Cf", "Cs"):
            raise DataError(f"{shown(name)} can't be a table: it has a character that a folder or an address can't have")
    if max(len(part.encode()) for part in parts) > _LONGEST_TABLE:
        raise DataError(f"{shown(name)} can't be a table: its name is longer than {_LONGEST_TABLE} bytes")
