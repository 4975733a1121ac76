"""
Files that a config names as a certificate, a key or a store of these: looked at before a library opens one.

A library that opens a FIFO waits for whoever writes to it, and librdkafka does so while all other threads of the process wait
for it; a device has no end. So only what is a file, and small, is opened: by `tls/stores.py`, and by who makes a Kafka client
(`kafka/translation.py`, HttpSink's answers, a backfill's history).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping

from kconnect.errors import ConfigError

MOST_BYTES = 16 * 2**20
"""Many times what all authorities of the world take."""

OF_CLIENTS = frozenset(
    (
        *("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.crl.location", "ssl.keystore.location"),
        *("https.ca.location", "sasl.kerberos.keytab"),
    )
)
"""librdkafka's settings that name a file which it opens when a client is made."""
_NO_FILES = {"ssl.ca.location": ("probe",), "https.ca.location": ("probe",)}
_FOLDERS = frozenset(("ssl.ca.location", "https.ca.location"))


def read(path: str, folders: bool = False) -> bytes:
    """
    Return a file's content. Raise OSError for what is no file, or too large, without waiting for anybody. With `folders`, one
    of these passes, as if it were empty.
    """
    # Whoever opens a FIFO otherwise waits; a terminal would become the process's own.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if folders and stat.S_ISDIR(mode):
            return b""
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "It is no file, but a pipe, a socket or a device", path)
        content = bytearray()
        # What only looks like a file, such as the kernel's log, raises BlockingIOError where it has no more for the moment.
        while part := os.read(descriptor, 2**20):
            content += part
            if len(content) > MOST_BYTES:
                raise OSError(errno.EFBIG, f"It has more than {MOST_BYTES // 2**20} MiB", path)
        return bytes(content)
    finally:
        os.close(descriptor)


def require(client: Mapping[str, object], prefix: str = "") -> None:
    """
    Raise ConfigError if a setting of librdkafka's names what is no small file. What is not there, or may not be read, the
    client says itself.
    """
    for name in sorted(OF_CLIENTS.intersection(client)):
        path = str(client[name]).strip()
        if not path or path in _NO_FILES.get(name, ()):
            continue
        try:
            read(path, name in _FOLDERS)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ELOOP):
                continue
            reason = error.strerror if isinstance(error, OSError) else "It is no path"
            raise ConfigError(f"{prefix}{name}", path, f"The file can't be read: {reason}") from None
