"""
The Spark session of a driver: which settings kconnect needs, and which the user may choose.

Called by `host/driver.py`. Every `spark.*` key of the worker file arrives here; those in `_OURS` can't be changed, as the
hosts' behaviour rests on them. On a cluster, each of its machines needs the Python program that runs this worker, with
kconnect, under the same path (or under `spark.pyspark.python`), and must reach the driver's address. What passes between
driver and executors, secrets in the hosts' orders included, is as safe as Spark's own settings make it:
`spark.authenticate`, which is on in local mode, and `spark.network.crypto.enabled`. Read next: `hosts.py`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import psutil

from kconnect import doorman, private_folder
from kconnect.spark import class_archive, home, masters
from kconnect.spark.daemon import KCONNECTS, PRELOAD, SAFE_PATH
from kconnect.spark.errors import SparkLost, reason
from kconnect.spark.output import Output
from kconnect.spark.sizes import ROOM

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger(__name__)

# Otherwise the heap begins with a share of the machine's memory, of which all that is young gets touched: 96 MiB more.
JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -Xms48m -Xmn16m"
_DRIVER_JVM = "spark.driver.extraJavaOptions"

_DEFAULTS = {
    # In local mode a slot is only a number: many, so that a host never waits for one, even where each task has its own. The
    # second number is how often Spark starts a host that died again before it gives the job up (then `hosts.py` does).
    "spark.master": "local[512,8]",
    # Or Spark starts a thread for each slot: 567 in all instead of 64, and 45 MB.
    "spark.rpc.netty.dispatcher.numThreads": "8",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    _DRIVER_JVM: JVM,
    # No data passes through an executor's JVM; hosts are processes beside it.
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": JVM,
    "spark.log.level": "WARN",
    "spark.task.maxFailures": "8",
    "spark.ui.showConsoleProgress": "false",
}

_OURS = {
    # A speculative copy would run a host twice.
    "spark.speculation": "false",
    # Each host begins in a clean process.
    "spark.python.worker.reuse": "false",
    "spark.python.daemon.module": "kconnect.spark.daemon",
}


_HEARTBEATS = {
    # By default Spark gives an executor up that has said nothing for two minutes, and looks once a minute. For that long the
    # tasks of a machine that is gone would wait.
    "spark.executor.heartbeatInterval": "4s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "20s",
    "spark.network.timeoutInterval": "5s",
}
_HEARTBEAT_SETTINGS = (*_HEARTBEATS, "spark.network.timeout", "spark.storage.blockManagerTimeoutIntervalMs")
"""Who sets one of these has all of them as they are in Spark: they have to fit together."""

_AUTHENTICATE = "spark.authenticate"
_ENCRYPT = "spark.network.crypto.enabled"
_REDACTION = "spark.redaction.regex"
_SPARK_REDACTS = "(?i)secret|password|token|access[.]?key"
"""Spark's own default."""


def settings(
    user: Mapping[str, str], preload: str, hosts: int, hidden: Iterable[str] = (), name: str = "kconnect"
) -> dict[str, str]:
    """
    The configuration of a session that is to run so many hosts. A user's value for one of ours is dropped with a warning.
    Spark shows none of the settings named `hidden`, and the application under this `name`.
    """
    for key, value in _OURS.items():
        if user.get(key, value) != value:
            log.warning("Ignoring %s: kconnect's task hosts need %s here", key, value)
    merged = {
        **_DEFAULTS,
        "spark.app.name": name,
        **user,
        **_OURS,
        f"spark.executorEnv.{PRELOAD}": preload,
        f"spark.executorEnv.{SAFE_PATH}": KCONNECTS,
    }
    # Spark shows those of Hadoop a second time, without the prefix.
    names = [re.escape(name.removeprefix("spark.hadoop.")) for name in hidden if name in user]
    if names:
        merged[_REDACTION] = "|".join([merged.get(_REDACTION, _SPARK_REDACTS), *names])
    placed = {**_place(merged["spark.master"], merged, hosts), **merged}
    if not merged["spark.master"].startswith("local") and user.keys().isdisjoint(_HEARTBEAT_SETTINGS):
        placed |= _HEARTBEATS
    if _AUTHENTICATE not in placed:
        log.warning(
            "%s is not set: Spark at %s runs code for whoever reaches its ports, and what this worker sends to its hosts, "
            "Kafka's passwords included, can be read on the network. Set it to true and, for a standalone cluster, "
            "spark.authenticate.secret to the secret of its master and workers",
            _AUTHENTICATE,
            merged["spark.master"],
        )
    elif placed[_AUTHENTICATE].lower() == "true" and not merged["spark.master"].startswith("local"):
        # Without it who logs in is checked, and all that follows is sent in clear: the hosts' orders have Kafka's passwords.
        # A master that does not have it is talked to as before.
        placed = {_ENCRYPT: "true", **placed}
        if placed[_ENCRYPT].lower() != "true":
            log.warning(
                "%s is %s: what this worker sends to its hosts, Kafka's passwords included, can be read on the network. Set it "
                "to true here and for the master and workers of Spark",
                _ENCRYPT,
                placed[_ENCRYPT],
            )
    return placed


def _place(master: str, given: Mapping[str, str], hosts: int) -> dict[str, str]:
    """The defaults that depend on where executors run: a slot for each host, and an address at which they reach the driver."""
    if master.startswith("local"):
        # Nobody from elsewhere has any business with a driver whose executor is itself, nor has any other user of this
        # machine, whose Java objects it would deserialize. The secret is a random one of Spark's own, which no setting shows.
        return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", _AUTHENTICATE: "true"}
    cores = hosts * _number(given, "spark.task.cpus")
    if master.startswith("spark://"):
        # Spark's default is every core of the cluster, and would leave none for the next worker's hosts.
        placed = {"spark.cores.max": str(cores + ROOM * _number(given, "spark.task.cpus"))}
        # Spark's default is the first address that is not loopback, which need not be one that the cluster reaches.
        address = None if {"SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME"} & os.environ.keys() else _address_towards(master)
        return placed if address is None else {**placed, "spark.driver.host": address}
    return {"spark.executor.instances": str(-(-cores // _number(given, "spark.executor.cores")))}


def _number(given: Mapping[str, str], key: str) -> int:
    """The user's whole number, or Spark's default of 1; what is none is for Spark to refuse."""
    text = given.get(key, "")
    return max(1, int(text)) if text.isdecimal() else 1


def _address_towards(master: str) -> str | None:
    """This machine's address on the way to the first of the masters that has a way."""
    for host, port in masters.places({"spark.master": master}):
        try:
            family, kind, _, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind) as probe:
                probe.connect(target)  # Sends nothing: it only chooses the route.
                address: str = probe.getsockname()[0]
                return f"[{address}]" if family == socket.AF_INET6 else address
        except OSError:
            continue
    return None


def start(
    user: Mapping[str, str], preload: str, hosts: int, output: Output, hidden: Iterable[str] = (), name: str = "kconnect"
) -> SparkContext:
    """
    Start the JVM and the session: 2 to 8 seconds, or a minute if the cluster does not answer. `output` is for its standard
    error; other arguments as of `settings`.

    Raises:
        SparkLost: what it says in the log is all that can be said
        SystemExit: raised by a signal's handler meanwhile; the JVM has been ended
    """
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    conf = settings({_DRIVER_JVM: JVM + class_archive.options(), **user}, preload, hosts, hidden, name)
    # Its libraries, and Spark's own files, are no business of the machine's other users. The JVM holds it, too.
    folder = private_folder.made()
    conf[_DRIVER_JVM] = folder.added_to(conf.get(_DRIVER_JVM, ""))
    home.name_it(os.environ)
    # The setting alone has no effect for a session that Python starts. On other machines the user's names their Python.
    os.environ["PYSPARK_PYTHON"] = user.get("spark.pyspark.python", sys.executable)
    if conf["spark.master"].startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # PySpark would hand the settings over on the JVM's command line, where every user of the machine can read them.
    with _properties("".join(f"{_escape(key)}={_escape(value)}\n" for key, value in conf.items()).encode("ascii")) as file:
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {file} pyspark-shell"
        try:
            try:
                gateway = launch_gateway(popen_kwargs={"stderr": output.end, "pass_fds": [folder.descriptor]})
            except SystemExit:
                # PySpark has deleted the directory in which the JVM was to name its port. The JVM would fail, and live on.
                for process in psutil.Process().children(recursive=True):
                    # One ends when that which started it does.
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.kill()
                raise
            finally:
                output.started()
            doorman.post(gateway)
            # No SparkSession: hosts need none, and it would cost the JVM half as much again.
            context = SparkContext(gateway=gateway)
            if conf["spark.master"].startswith("local"):
                folder.lend_to_hadoop(context._jsc.hadoopConfiguration())
            output.up()
            return context
        except Exception as error:
            where = (
                "" if conf["spark.master"].startswith("local") else (": check that it runs, and that it can reach this machine")
            )
            raise SparkLost(f"Spark did not start at {conf['spark.master']} ({reason(error)}){where}") from error


@contextlib.contextmanager
def _properties(content: bytes) -> Iterator[str]:
    """The name of a file for this user's processes only. There may be secrets in it, so that no kill may leave it on a disk."""
    if not hasattr(os, "memfd_create"):  # not Linux
        with tempfile.NamedTemporaryFile(prefix="kconnect-spark-") as file:
            file.write(content)
            file.flush()
            yield file.name
        return
    with open(os.memfd_create("spark.properties"), "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/{os.getpid()}/fd/{file.fileno()}"


def _escape(text: str) -> str:
    """Escape a text for java.util.Properties: each character that is not plainly harmless becomes its UTF-16 units."""
    units = text.encode("utf-16-be")
    return "".join(
        chr(unit) if chr(unit).isascii() and (chr(unit).isalnum() or chr(unit) in "._-/") else f"\\u{unit:04x}"
        for unit in (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    )
