"""
Several machines on one: brokers, a Spark cluster and workers with networks, names, processes and disks of their own.

Needs Linux, root and a C compiler; `lacking` says in a line what is missing. Each machine is a set of namespaces of the kernel,
whose network ends in a switch in user space (`fabric.c`), so that any line can be cut, slowed down or narrowed. Nothing has a
name outside, so rigs may run side by side, and all ends with the process that holds the rig's life line, whatever ends that.

`cluster.py` puts it together: three brokers with TLS, SCRAM and ACLs (`brokers.py`), a standalone Spark cluster (`spark.py`)
and three workers (`workers.py`), on the machines of `hosts.py` and the network of `switch.py`. `faults/` is the table of what
hurts them, `play.py` plays it, and `scripts/chaos --machines` runs that. `python -m tests.rig.machines` is for people. Read
next: `cluster.py`.
"""

from __future__ import annotations

import os
import shutil
import sys

ADDRESSES = {
    **{f"b{number}": f"10.77.0.{10 + number}" for number in (1, 2, 3)},
    **{f"s{number}": f"10.77.0.{20 + number}" for number in (0, 1, 2, 3)},
    **{f"k{number}": f"10.77.0.{30 + number}" for number in (1, 2, 3)},
    "c1": "10.77.0.41",
}
"""All machines. The network exists inside the rig only."""
BROKERS, MASTER, SPARK_WORKERS, WORKERS, CLIENT = ("b1", "b2", "b3"), "s0", ("s1", "s2", "s3"), ("k1", "k2", "k3"), "c1"

_PROGRAMS = ("ip", "nsenter", "unshare", "mount", "openssl")


def lacking() -> str | None:
    """Return why this machine can't have the rig, in one line; None if it can."""
    if sys.platform != "linux":
        return "the rig of several machines needs Linux: network and process namespaces"
    if os.geteuid() != 0:
        return "the rig of several machines needs root: it makes network namespaces"
    if not os.path.exists("/dev/net/tun"):
        return "the rig of several machines needs /dev/net/tun: the kernel's module tun"
    if shutil.which("cc") is None:
        return "the rig of several machines needs a C compiler, to compile its switch: apt-get install gcc libc6-dev"
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    return (
        f"the rig of several machines needs {', '.join(missing)}: apt-get install iproute2 util-linux openssl"
        if missing
        else None
    )
