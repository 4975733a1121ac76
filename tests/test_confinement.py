"""
Which folders of kconnect may look at a clock, start threads, roll dice, touch files, read the environment, start processes.

`ALLOWED` is the rule, `WHERE` says where else such a thing belongs. Import contracts (`setup.cfg`) can't tell `datetime.now`
from a datetime, or `open` from any other name, so this reads what modules use, whatever name they imported it by.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kconnect"

CLOCK, THREADS, DICE, FILES, ENVIRONMENT, PROCESSES = "clock", "threads", "dice", "files", "environment", "processes"
ALL = frozenset((CLOCK, THREADS, DICE, FILES, ENVIRONMENT, PROCESSES))

ALLOWED: dict[str, tuple[frozenset[str], str]] = {
    "core": (frozenset(), "decides only: a test can repeat it, step by step"),
    "api": (frozenset(), "what plugins import; their calls get what they need"),
    "data": (frozenset(), "values: the same in, the same out"),
    "java": (frozenset((CLOCK,)), "`SimpleDateFormat` reads two digits of a year by the year that it is"),
    "cel": (frozenset(), "an expression's result depends on its record only"),
    "deadlines.py": (frozenset((THREADS,)), "who waits for another machine can be ended by another thread only"),
    "doorman.py": (frozenset((FILES,)), "keeps the class that it compiles"),
    "errors.py": (frozenset(), "names and texts"),
    "archive_mapping.py": (frozenset(), "options: a list of texts"),
    "interpreter.py": (frozenset(), "how others start processes: a list of texts"),
    "normal_forms.py": (frozenset(), "texts: the same in, the same out"),
    "own_places.py": (frozenset((FILES, ENVIRONMENT)), "looks where this process has its own code"),
    "peers.py": (frozenset((FILES,)), "reads the kernel's table of connections"),
    "private_folder.py": (frozenset((FILES, CLOCK)), "makes a folder, and takes old ones away"),
    "small_files.py": (frozenset((FILES,)), "looks at files before libraries open them"),
    "transforms": (frozenset(), "a record that comes again must become the same record"),
    "predicates": (frozenset(), "a record that comes again must be judged the same"),
    "converters": (ALL - {ENVIRONMENT, PROCESSES}, "the registry's client: a lock, certificates, addresses, a time limit"),
    "connectors": (
        frozenset((CLOCK, THREADS, FILES, ENVIRONMENT)),
        "they wait for files, and stop from another thread; where a library has its own configuration, the environment says",
    ),
    "providers": (frozenset((FILES, ENVIRONMENT)), "secrets are there"),
    "tls": (ALL - {CLOCK, THREADS}, "keystores, by Java's tools; nothing waits"),
    "spark": (ALL - {DICE}, "starts Spark and its hosts; what they run is decided by the worker"),
    "jvm": (ALL - {DICE}, "finds Java, fetches jars, starts the JVM; what runs in it is a unit's"),
    "kafka": (ALL - {DICE, ENVIRONMENT}, "waits for brokers; settings come in by arguments"),
    "units": (frozenset((CLOCK, THREADS, DICE)), "tasks in threads, with jitter; files and the environment are their plugins'"),
    "host": (ALL - {DICE, ENVIRONMENT}, "obeys what the worker has written, and gets its settings from there"),
    "processes": (ALL - {PROCESSES}, "what every process shares; it starts none"),
    "telemetry": (frozenset((CLOCK, THREADS)), "spans have times, and the end of all waits for a moment"),
    "rest": (ALL - {PROCESSES}, "a server: what starts processes is behind the herder"),
    "preview": (frozenset((CLOCK, THREADS)), "a chain as a task runs it: what it reads is read by `kafka/`"),
    "internal_topics": (frozenset((CLOCK,)), "topics are read and written by `kafka/`"),
    "dlq": (frozenset(), "letters are read and written by `kafka/`, and tried by `preview/`"),
    "plugins": (ALL, "the sandbox, installing and loading"),
    "worker": (ALL, "the shell around the herder"),
    "local": (ALL, "runs a broker on this machine"),
    "testing": (ALL, "runs all of it for authors' tests"),
    "console": (frozenset(), "files for browsers: it has no code of Python"),
    "cli": (ALL, "commands"),
    "pyspark": (frozenset((CLOCK,)), "waits for a connector; what it reads is read by `kafka/`"),
    "__init__.py": (frozenset(), "a version"),
    "__main__.py": (frozenset(), "the command line's name"),
}

WITHIN: dict[str, tuple[frozenset[str], str]] = {
    "connectors/spark": (
        ALL,
        "Spark is a process of its own, of another Python; the branch that a commit is made on has a name of its own",
    ),
    "host/pod.py": (frozenset((ENVIRONMENT, PROCESSES)), "a pod's program: Spark tells it by variables what to become"),
}
"""Rules of folders and modules within these, which go before."""

WHERE = {
    CLOCK: "hand the time in, as `handle(event, now)` does: `worker/loop.py`, `host/main.py` and `units/` have clocks",
    THREADS: "`worker/`, `host/` and `units/` run what is decided",
    DICE: "hand the number in: `worker/`, `units/` and `rest/` draw them",
    FILES: "read it in `worker/`, `plugins/` or `cli/`, and hand the text in",
    ENVIRONMENT: "make it a setting (`core/settings/`), or read it in `worker/main.py` or `cli/`",
    PROCESSES: "`plugins/sandbox.py`, `worker/main.py` and `spark/` start processes",
}

_OF_MODULE = {
    "asyncio": THREADS,
    "concurrent": THREADS,
    "multiprocessing": PROCESSES,
    "queue": THREADS,
    "random": DICE,
    "secrets": DICE,
    "subprocess": PROCESSES,
    "tempfile": FILES,
    "shutil": FILES,
    "threading": THREADS,
}
_OF_NAME = {
    **{f"time.{name}": CLOCK for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep")},
    **{f"time.{name}": CLOCK for name in ("localtime", "gmtime", "ctime", "process_time", "perf_counter_ns")},
    **{f"datetime.{name}": CLOCK for name in ("datetime.now", "datetime.utcnow", "datetime.today", "date.today")},
    **{f"uuid.{name}": DICE for name in ("uuid1", "uuid4")},
    **{f"os.{name}": ENVIRONMENT for name in ("environ", "environb", "getenv", "putenv")},
    **{f"os.{name}": PROCESSES for name in ("fork", "kill", "killpg", "execv", "execve", "spawnv", "system", "popen")},
    **{f"os.{name}": FILES for name in ("open", "fdopen", "listdir", "scandir", "walk", "unlink", "mkdir", "stat")},
    "os.urandom": DICE,
    "open": FILES,
    "io.open": FILES,
}
_METHODS = frozenset(("read_text", "read_bytes", "write_text", "write_bytes"))
"""Of paths."""


def uses(source: str) -> Iterator[tuple[int, str, str]]:
    """The line, the name and the kind of each thing that is not for everybody."""
    tree = ast.parse(source)
    names: dict[str, str] = {"open": "open"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {
                each.asname or each.name.partition(".")[0]: each.name if each.asname else each.name.partition(".")[0]
                for each in node.names
            }
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute | ast.Name):
            continue
        if isinstance(node, ast.Attribute) and node.attr in _METHODS:
            yield node.lineno, f".{node.attr}", FILES
        name = _dotted(node, names)
        if name == "random.Random":
            continue  # With a seed, as everywhere here, it gives the same again.
        kind = _OF_NAME.get(name) or (_OF_MODULE.get(name.partition(".")[0]) if "." in name else None)
        if kind is not None:
            yield node.lineno, name, kind


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    """`datetime.datetime.now` for `dt.now` after `from datetime import datetime as dt`; empty for what no import brought."""
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value, names)
        return before and f"{before}.{node.attr}"
    return names.get(node.id, "") if isinstance(node, ast.Name) else ""


def astray(path: Path, source: str) -> list[str]:
    """What a module uses against the rule of its folder, as lines for who has written it."""
    folder = path.relative_to(PACKAGE).parts[0]
    own = next((within for within in WITHIN if path.is_relative_to(PACKAGE / within)), None)
    allowed, reason = ALLOWED[folder] if own is None else WITHIN[own]
    return [
        f"{path.relative_to(ROOT)}:{line} uses {name}, but kconnect/{folder} has no {kind} ({reason}); {WHERE[kind]}"
        for line, name, kind in sorted(set(uses(source)))
        if kind not in allowed
    ]


def test_each_folder_keeps_to_what_it_may_use() -> None:
    found = [line for path in sorted(PACKAGE.rglob("*.py")) for line in astray(path, path.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_each_folder_has_a_rule() -> None:
    there = {path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or any(path.rglob("*.py"))}
    assert there == set(ALLOWED)
    assert all((PACKAGE / within).is_file() or any((PACKAGE / within).rglob("*.py")) for within in WITHIN)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import time\ntime.monotonic()", "time.monotonic"),
        ("import time as clock\nx = clock.sleep", "time.sleep"),
        ("from time import time\ntime()", "time.time"),
        ("from datetime import datetime\ndatetime.now()", "datetime.datetime.now"),
        ("import datetime as dt\ndt.datetime.now(dt.timezone.utc)", "datetime.datetime.now"),
        ("import threading\nthreading.Thread(target=print)", "threading.Thread"),
        ("from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor()", "concurrent.futures.ThreadPoolExecutor"),
        ("import asyncio\nasyncio.run(x)", "asyncio.run"),
        ("import random\nrandom.random()", "random.random"),
        ("from uuid import uuid4\nuuid4()", "uuid.uuid4"),
        ("import os\nos.environ['HOME']", "os.environ"),
        ("open('x')", "open"),
        ("path.read_text()", ".read_text"),
        ("import subprocess\nsubprocess.run([])", "subprocess.run"),
    ],
)
def test_what_the_core_must_not_use_is_found(code: str, name: str) -> None:
    file = PACKAGE / "core" / "herder" / "herder.py"
    found = astray(file, code)
    assert [line for line in found if f"kconnect/core/herder/herder.py:{code.count(chr(10)) + 1} uses {name}, " in line], found


def test_dates_and_names_alone_are_no_clock() -> None:
    assert not list(uses("from datetime import datetime\ndatetime.fromtimestamp(0)\nself.open()\nself.time.time()"))
