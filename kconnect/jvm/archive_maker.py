"""
Makes the class archive of `archive.py`, beside the shim's jar: `python -m kconnect.jvm.archive_maker`.

`shim.py` runs that once it has compiled a jar. The archive has Connect's classes and the shim's, and none of plugins: Java
takes only those of the class path.
"""

from __future__ import annotations

import atexit
import os
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import jpype

from kconnect import archive_mapping
from kconnect.jvm import machine, options
from kconnect.jvm.options import Options

_WHOLE = ("shim-", "connect-api-", "connect-json-", "connect-transforms-", "connect-file-")
_CLIENTS = ("admin.KafkaAdminClient", "consumer.KafkaConsumer", "producer.KafkaProducer")


def main(target: str) -> None:
    """Write the archive. Run in a process of its own, as its JVM has to end."""
    aside = Path(f"{target}.new")
    options.wanted = Options(more=[*archive_mapping.IN_PLACE, f"-XX:ArchiveClassesAtExit={aside}"])
    machine.start()
    loader = jpype.JClass("java.lang.ClassLoader").getSystemClassLoader()
    names = [f"org.apache.kafka.clients.{name}" for name in _CLIENTS]
    for entry in str(jpype.JClass("java.lang.System").getProperty("java.class.path")).split(os.pathsep):
        if Path(entry).name.startswith(_WHOLE):
            with zipfile.ZipFile(entry) as jar:
                names += [name[:-6].replace("/", ".") for name in jar.namelist() if name.endswith(".class")]
    for name in names:
        # Some are for libraries that are not there.
        with suppress(jpype.JException):
            jpype.JClass("java.lang.Class").forName(name, True, loader)
    atexit.unregister(machine.leave)
    jpype.shutdownJVM()
    aside.rename(target)


if __name__ == "__main__":
    main(sys.argv[1])
