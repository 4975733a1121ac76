"""
No setting ends the process that its client is made in: what librdkafka would abort on is refused before.

Every setting that it knows is tried with an empty and with a huge text, in a child process. No client ever reaches a broker.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import confluent_kafka as ck
import pytest

from kconnect.core.settings.overrides import Policy, sections
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError
from kconnect.kafka import clients
from tests.kafka.test_clients import WORKER

HUGE = "x" * 100_000
_AT_ONCE = 50
LOGINS = (
    {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"},
    {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"},
    {"security.protocol": "SSL"},
)


def names() -> list[str]:
    """All that librdkafka knows, which is more than Java's clients do; whatever has a dot in its name may be overridden."""
    library, c = ctypes.CDLL(ck.cimpl.__file__), ctypes.CDLL(None)
    c.fopen.restype, c.fclose.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    library.rd_kafka_conf_properties_show.argtypes = [ctypes.c_void_p]
    with tempfile.NamedTemporaryFile() as file:
        stream = c.fopen(file.name.encode(), b"w")
        library.rd_kafka_conf_properties_show(stream)
        c.fclose(stream)
        found = [line.partition(b"|")[0].strip().decode() for line in file.read().splitlines() if line.count(b"|") == 5]
    return sorted({name for name in found if name[:1].isalpha() and name != "Property"})


def cases() -> Iterator[dict[str, str]]:
    known = names()
    assert {"group.id", "ssl.ca.pem", "linger.ms"} <= set(known)
    for name in known:
        yield {name: ""}
        yield {name: HUGE}
    for login in LOGINS:
        of_it = login["security.protocol"].partition("_")[0].lower()
        yield from ({**login, name: ""} for name in known if name.startswith(f"{of_it}."))


def settings_of(kind: str, given: dict[str, str]) -> clients.Client:
    worker = WorkerSettings.from_properties(WORKER, {})
    make = clients.consumer if kind == "consumer" else clients.producer
    client = make(worker, "c", 0, {f"{kind}.override.{name}": text for name, text in given.items()})
    for ours in ("max.poll.records", clients.RESET_AGE_MS):
        client.pop(ours, None)
    return {**client, "log_level": 0}


def try_all() -> None:
    """
    In a child, which forks a few times: to end a client may take long, and whoever ends its process need not. The line of
    output that was begun last tells what it died of.
    """
    tried = [(kind, given) for kind in ("consumer", "producer") for given in cases()]
    for first in range(0, len(tried), _AT_ONCE):
        child = os.fork()
        if not child:
            made = []
            for kind, given in tried[first : first + _AT_ONCE]:
                os.write(1, f"{kind} {[(name, text[:9]) for name, text in given.items()]}\n".encode())
                with contextlib.suppress(ConfigError, ck.KafkaException):
                    client = settings_of(kind, given)
                    made.append(ck.Consumer(client) if kind == "consumer" else ck.Producer(client))
            os._exit(0 if made or first else 1)
        _, status = os.waitpid(child, 0)
        if status:
            os._exit(1)
    os.write(1, b"all\n")
    os._exit(0)


@pytest.mark.process
def test_no_setting_ends_the_process() -> None:
    child = subprocess.run(
        [sys.executable, "-c", "from tests.kafka import test_hostile_settings as t; t.try_all()"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    last = child.stdout.splitlines()[-1]
    assert (child.returncode, last.split()[0]) == (0, "all"), f"{last}: {child.stderr[-2000:]}"


@pytest.mark.parametrize("given", [{"group.id": " "}, {"group.id": "\0"}, {"group.id": "\ud800"}, {"group.id\0": ""}])
def test_what_would_end_it_is_refused_before_a_client_is_made(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"group\.id\0? can't be used"):
        settings_of("consumer", given)


@pytest.mark.parametrize("name", ["default.topic.config", "delivery.report.only.error"])
@pytest.mark.parametrize("text", ["", "x", "{}", "true"])
@pytest.mark.parametrize("kind", ["consumer", "producer"])
def test_what_python_s_library_takes_no_text_for_is_refused_by_its_name(kind: str, name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=rf"{name} can't be used"):
        settings_of(kind, {name: text})
    values = [value for section in sections("sink", {f"consumer.override.{name}": text}, Policy()) for value in section.values]
    assert [(value.name, len(value.errors)) for value in values] == [(name, 1)]
    assert name in values[0].errors[0]


def test_it_is_refused_in_the_worker_file_too() -> None:
    settings = WorkerSettings.from_properties({**WORKER, "consumer.group.id": ""}, {})
    with pytest.raises(ConfigError, match=r"group\.id can't be used: it is empty"):
        clients.consumer(settings, "c", 0, {})
