"""
Compiles the shim, the Java classes of `shim/`, without a JDK: by Janino, which is among PySpark's jars.

`machine.py` asks for `jar()`. It is compiled once for each version of the sources and of Connect, in a process of its own
(`python -m kconnect.jvm.shim`), for Janino is not to be seen by plugins; the jar is kept in the cache. Janino knows no lambda
and no generics to speak of, so the sources have casts.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kconnect import interpreter
from kconnect.errors import ConnectError
from kconnect.jvm import jars, java, lock

_SOURCES = Path(__file__).parent / "shim"
_ARCHIVE_S = 300.0


def jar() -> Path:
    """
    The shim's jar, compiled first if need be, which takes some seconds.

    Raises:
        ConnectError: no Java, no network for Connect's jars, or a cache that can't be written
    """
    sources = sorted(_SOURCES.glob("*.java"))
    program = Path(java.find()).resolve()
    digest = hashlib.sha256(f"{jars.KAFKA_VERSION} {program} {program.stat().st_mtime_ns}".encode())
    for source in sources:
        digest.update(source.read_bytes())
    cache = jars.cache_dir()
    target = cache / "jars" / f"shim-{digest.hexdigest()[:12]}.jar"
    if target.exists():
        return target
    jars.connect()
    try:
        with lock.hold(cache / "shim.lock"):
            if not target.exists():
                compile_to(target, sources)
                # Without it everything works, only later.
                command = interpreter.command("kconnect.jvm.archive_maker", str(target.with_suffix(".jsa")))
                with suppress(subprocess.SubprocessError):
                    subprocess.run(command, capture_output=True, timeout=_ARCHIVE_S)
    except OSError as error:
        raise ConnectError(f"The cache {cache} can't be used ({error}): set KCONNECT_CACHE to a directory of yours") from error
    return target


def compile_to(target: Path, sources: Sequence[Path]) -> None:
    """Compile against Connect's classes, into a new jar. ConnectError, with what the compiler says, if that fails."""
    aside = target.with_suffix(".new")
    process = subprocess.run(
        interpreter.command("kconnect.jvm.shim", str(aside), *map(str, sources)), capture_output=True, text=True
    )
    if process.returncode != 0:
        raise ConnectError(f"{target.name} can't be compiled: {(process.stderr or process.stdout).strip()[-2000:]}")
    aside.rename(target)


def main(target: str, *sources: str) -> None:
    """Compile the shim in a process of its own."""
    import jpype

    connect = jars.class_path(jars.connect())
    janino = [str(jars.of_pyspark(name)) for name in ("janino", "commons-compiler")]
    jpype.startJVM(java.library(), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", classpath=[connect, *janino])
    compiler = jpype.JClass("org.codehaus.janino.CompilerFactory")().newCompiler()
    loader = jpype.JClass("java.lang.Thread").currentThread().getContextClassLoader()
    compiler.setIClassLoader(jpype.JClass("org.codehaus.janino.ClassLoaderIClassLoader")(loader))
    compiler.setDebugLines(True)
    compiler.setDebugSource(True)
    class_files = jpype.JClass("java.util.HashMap")()
    creator = jpype.JClass("org.codehaus.commons.compiler.util.resource.MapResourceCreator")(class_files)
    finder = jpype.JClass("org.codehaus.commons.compiler.util.resource.ResourceFinder").EMPTY_RESOURCE_FINDER
    compiler.setClassFileCreator(creator)
    compiler.setClassFileFinder(finder)
    compiler.compile([jpype.JClass("java.io.File")(source) for source in sources])
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in class_files.keySet():
            archive.writestr(str(name), bytes(class_files.get(name)))


if __name__ == "__main__":
    main(*sys.argv[1:])
