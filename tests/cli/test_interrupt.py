"""Ctrl-C, where Python hears it and where it does not."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading

import pytest

from kconnect.cli import interrupt
from tests.cli.calls import call

pytestmark = pytest.mark.process

_LIMIT_S = 120
_BEGIN = """
import signal, sys, threading
import confluent_kafka as ck
from kconnect.cli import interrupt

# Whoever starts the tests in the background of a shell has Ctrl-C ignored, and all processes below inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

def wait(seconds):
    "As librdkafka waits for a broker that says nothing: nobody hears a signal meanwhile."
    client = ck.Producer({"bootstrap.servers": sys.argv[1], "log_level": 0, "socket.connection.setup.timeout.ms": 900000})
    try:
        client.list_topics(timeout=seconds)
    except ck.KafkaException:
        pass

"""


def interrupted(code: str) -> tuple[int, str]:
    """How a process ended that got SIGINT while it waited for a broker, or had said that it is ready."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(_LIMIT_S)
        process = subprocess.Popen(
            [sys.executable, "-c", _BEGIN + code, f"127.0.0.1:{silent.getsockname()[1]}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            with silent.accept()[0]:
                process.send_signal(signal.SIGINT)
                out, _ = process.communicate(timeout=_LIMIT_S)
        finally:
            process.kill()
    return process.returncode, out


def test_a_call_that_hears_nothing_is_ended() -> None:
    code = """
try:
    with interrupt.heard_at_once():
        wait(900)
except KeyboardInterrupt:
    sys.exit(130)
"""
    assert interrupted(code) == (130, "")


def test_a_command_that_hears_it_cleans_up() -> None:
    code = """
interrupt._SOON_S = 60
with interrupt.heard_at_once():
    try:
        threading.Thread(target=wait, args=(900,), daemon=True).start()
        threading.Event().wait()
    except KeyboardInterrupt:
        print("cleaned up", flush=True)
        sys.exit(1)
"""
    assert interrupted(code) == (1, "cleaned up\n")


def test_whoever_has_heard_it_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = interrupt._Watch()
    try:
        # Of two signals at once the main thread hears once, maybe before the watch does.
        monkeypatch.setattr(interrupt, "_SOON_S", 60.0)
        with pytest.raises(KeyboardInterrupt):
            watch.heard(signal.SIGINT, None)
        assert watch._is_heard()
        assert watch._is_heard()
        watch._heard_at -= 1000
        monkeypatch.setattr(interrupt, "_SOON_S", 0.01)
        assert not watch._is_heard()
    finally:
        watch.end()


def test_a_command_with_a_handler_of_its_own_is_left_alone() -> None:
    code = """
asked = threading.Event()
interrupt._SOON_S = 0.1
with interrupt.heard_at_once():
    signal.signal(signal.SIGINT, lambda *_: asked.set())
    wait(1)
    asked.wait()
    print("in order", flush=True)
"""
    assert interrupted(code) == (0, "in order\n")


def test_a_process_that_was_started_deaf_stays_so() -> None:
    code = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
interrupt._SOON_S = 0.1
with interrupt.heard_at_once():
    wait(1)
print("to the end", flush=True)
"""
    assert interrupted(code) == (0, "to the end\n")


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="only the main thread has handlers")
def test_a_command_leaves_the_process_as_it_was() -> None:
    before, threads = signal.getsignal(signal.SIGINT), set(threading.enumerate())
    assert call("--version").status == 0
    assert signal.getsignal(signal.SIGINT) is before
    fd = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(fd)
    assert fd == -1
    assert set(threading.enumerate()) <= threads
