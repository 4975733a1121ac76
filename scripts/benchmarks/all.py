"""
Every bench, one after the other, each in a process of its own: all tables, the results in a file, and the page of them.

The results go to `.kconnect/bench/`. `--write` puts them into docs/performance.md, in place of what it had of these benches.
`--only` chooses benches, `--run` one with its own options. `--quick` takes small sizes and some minutes: it shows that all of
them work, not how fast anything is. A bench that fails is named at the end; what the others found is kept. Read next:
`tests/rig/benches/page.py`.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import confluent_kafka
import psutil
import pyspark

import kconnect
from kconnect.jvm import java
from tests.rig.benches import page, results

ROOT = Path(__file__).parent.parent.parent
TWO = "--rounds 2"
BENCHES = {
    "throughput": ("--records 1000000", "--records 20000 --rounds 1 --warm 1"),
    "latency": ("", "--seconds 3 --rounds 1"),
    "chain": ("", TWO),
    "connectors": ("", "--records 20000 --rounds 1"),
    "columns": ("", "--records 20000 --rounds 1"),
    "java": ("", "--records 20000 --rounds 1 --connectors 4"),
    "density": ("", "--connectors 20 --idle-seconds 5"),
    "growth": ("", "--sizes 10 30 --idle-seconds 5 --seconds 5"),
    "start": ("", "--records 2000 --rounds 1"),
    "rest": ("", "--connectors 30 --reads 100"),
    "console": ("", "--connectors 100 --rounds 2 --seconds 5"),
    "apply": ("", "--connectors 20"),
    "offsets": ("", "--rounds 3"),
    "cores": ("", "--records 20000 --rounds 1"),
    "cluster": ("", "--rounds 1 --connectors 3 --many 0"),
    "capacity": ("", "--connectors 15"),
    "scale": ("", "--workers 20 --connectors 200 --roll 1"),
    "topics": ("", "--topics 10 --rounds 1"),
    "memory": ("--restarts 1000 --connectors 10000 --hours 24", "--restarts 5 --connectors 20 --hours 0.5"),
}
"""The options for a whole run, and for a quick one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the command")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md and its plots")
    parser.add_argument("--read", type=Path, metavar="FILE", help="run nothing, take the results of an earlier run")
    parser.add_argument("--only", choices=BENCHES, action="append", help="by default every bench")
    parser.add_argument("--run", action="append", metavar="'BENCH OPTIONS'", help="only this one, with options of its own")
    options = parser.parse_args()
    folder = ROOT / ".kconnect" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    file = options.read or folder / f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H%M%S}.jsonl"
    wanted = (
        [] if options.read else options.run or [f"{name} {BENCHES[name][options.quick]}" for name in options.only or BENCHES]
    )
    failed = [each.split()[0] for each in wanted if not run(*each.split(), quick=options.quick, file=file)]
    if file.exists():
        runs, rows = results.read(file)
        print(f"\n{len(results.by_bench(rows))} benches; the results are in {file}")
        results.show(rows)
        if options.write:
            page.write(ROOT / "docs", runs, [row for row in rows if row.bench not in failed])
    if failed:
        raise SystemExit(f"Failed: {', '.join(failed)}")


def run(name: str, *arguments: str, quick: bool, file: Path) -> bool:
    """Whether it worked. Its results are gathered beside the file, to which they are added behind what says how they came."""
    command = " ".join(["scripts/bench", name, *arguments])
    print(f"\n{command}", flush=True)
    found = file.with_suffix(f".{name}")
    date, began = datetime.datetime.now(datetime.timezone.utc), time.monotonic()
    script = [sys.executable, str(Path(__file__).with_name(f"{name}.py")), *arguments, "--json", str(found)]
    status = subprocess.run(script, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False).returncode
    if found.exists():
        minutes = round((time.monotonic() - began) / 60, 1)
        when = f"{date:%Y-%m-%d %H:%M} UTC"
        how = {"bench": name, "command": command, "quick": quick, "date": when, "minutes": minutes}
        results.append(file, {**how, "versions": versions()})
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(found.read_text("utf-8"))
        found.unlink()
    return status == 0


def versions() -> dict[str, str]:
    said = subprocess.run([java.checked(), "-version"], capture_output=True, text=True, check=True).stderr.splitlines()
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False)
    memory = psutil.virtual_memory().total / 2**30
    return {
        "kconnect": f"{kconnect.__version__} {commit.stdout.strip()}".strip(),
        "Kafka and Connect": kconnect.CONNECT_VERSION,
        "Python": platform.python_version(),
        "Java": said[-1],
        "Spark": pyspark.__version__,
        "librdkafka": confluent_kafka.libversion()[0],
        "machine": f"{os.cpu_count()} cores of {processor()}, {memory:.0f} GiB, Linux {platform.release()}",
    }


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
