"""
Where the class archive of Spark's JVM is, and whether it can be used. Asked by `session.py`. Read next: `archive.py`.

Without an archive, or with one that Java refuses, Spark starts as it always did. Java takes an archive only for the class path
that it was made with, so it lies in the Python environment whose PySpark it is for, and goes with that.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from pathlib import Path

from kconnect import archive_mapping


def options() -> str:
    """Return the text to add to the JVM's options; an empty one if there is no archive."""
    file = path()
    if not _usable(file):
        return ""
    # An archive that does not fit is not used; that it wasn't is nothing to tell.
    return (
        f" -XX:SharedArchiveFile={file} -Xshare:auto {' '.join(archive_mapping.IN_PLACE)} -Xlog:disable -Xlog:all=error:stderr"
    )


def is_there() -> bool:
    """Return whether `archive.make` would do nothing."""
    file = path()
    return file is None or file.exists()


def _usable(path: Path | None) -> bool:
    # Java's options are a text that Spark takes apart at blanks.
    return (
        path is not None and path.exists() and not any(character.isspace() or character in "\"'\\" for character in str(path))
    )


def path() -> Path | None:
    """Return the archive's path. None if Java or PySpark is not there: starting Spark fails then, and says so."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    spark = importlib.util.find_spec("pyspark")
    try:
        java, jars = Path(program or "").resolve(strict=True), Path((spark and spark.origin) or "").resolve(strict=True)
        identity = f"{java} {java.stat().st_mtime_ns} {jars} {jars.stat().st_mtime_ns}"
    except OSError:
        return None
    return Path(sys.prefix) / "var" / "cache" / "kconnect" / f"spark-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.jsa"
