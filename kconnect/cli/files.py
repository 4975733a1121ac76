"""Files that commands are given. What is wrong in them is an `InputError`: one sentence, and exit status 2."""

from __future__ import annotations

from pathlib import Path

from kconnect.api.errors import ConfigError, ConnectError
from kconnect.java import properties


class InputError(ConnectError):
    exit_code = 2


class Problems(InputError):
    """Several, told in a line each."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


def text_of(path: Path) -> str:
    """InputError if it can't be read."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is not UTF-8 ({error.reason} at byte {error.start})") from None


def properties_of(path: Path) -> dict[str, str]:
    """A properties file's settings. InputError if it can't be read."""
    return as_properties(text_of(path), str(path))


def as_properties(text: str, where: str) -> dict[str, str]:
    try:
        return properties.load(text)
    except ConfigError as error:
        raise InputError(f"{where}: {error}") from None
