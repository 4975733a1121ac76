"""
Changing the offsets of a connector, which must be STOPPED for it (KIP-875).

`changing` sees to that, `write` asks the worker and reads back what it has now. `set`, `reset`, `rewind` and `import` use both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from kconnect.cli.offsets import entries
from kconnect.cli.offsets.entries import Entries
from kconnect.errors import BadRequestError, ConnectError, NotFoundError

if TYPE_CHECKING:
    from kconnect.rest.answers import ConnectorStateInfo
    from kconnect.rest.client import ConnectClient, RestError

_KNOWN_S = 30.0
_STOP_S = 120.0
_WRITE_S = 60.0
_PAUSE_S = 0.3
_SHOWN_S = 10.0

_NOT_YET = ("must be in the STOPPED state", "haven't stopped completely yet")
"""In Connect's refusals while the tasks of a stopped connector end."""


class NotStoppedError(BadRequestError):
    """An error that the connector is not stopped, with the commands that help."""

    exit_code = 6


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--stop` and `--dry-run`, which the command gets as `stop` and `dry_run`."""
    stop = click.option("--stop", is_flag=True, help="Stop the connector for the change, then bring it back into its state.")
    return stop(click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")(command))


@contextmanager
def changing(client: ConnectClient, name: str, stop: bool) -> Iterator[None]:
    """
    The connector is STOPPED inside. With `stop` it is stopped for that, and brought back to where it was, whether the change
    worked or not. Ctrl-C leaves it as it is and says so: nobody knows what the change had come to.

    NotStoppedError if it isn't stopped and must not be.
    """
    state = require(client, name, stop)
    if state == "STOPPED":
        _wait_stopped(client, name)
        yield
        return
    back, word = (client.pause, "pause") if state == "PAUSED" else (client.resume, "resume")
    try:
        click.echo(f"Stopping {name}", err=True)
        _ask_stop(client, name)
        _wait_stopped(client, name)
        yield
    except KeyboardInterrupt:
        _say_where_it_is(client, name, word)
        raise
    except Exception:
        _bring_back(name, back, word, "The offsets may differ from those asked for")
        raise
    _bring_back(name, back, word, "Its offsets were changed")


def require(client: ConnectClient, name: str, stop: bool) -> str:
    """The connector's state. NotStoppedError if it isn't STOPPED and must not be stopped, so that nobody is asked in vain."""
    state: str = _status(client, name)["connector"]["state"]
    if state != "STOPPED" and not stop:
        raise NotStoppedError(
            f"{name} is {state}, and offsets can be changed only while a connector is STOPPED. Give "
            f"kconnect stop {quote(name)}, then this command again; or add --stop, which stops {name} for the change and "
            "then brings it back"
        )
    return state


def _status(client: ConnectClient, name: str) -> ConnectorStateInfo:
    """Return the status, also of a connector that was created a moment ago, which has none for a while."""
    from kconnect.rest.client import RestError

    try:
        return client.status(name)
    except RestError as error:
        if error.status != 404:
            raise
    client.connector(name)
    return client.wait_until(name, lambda status: True, "known", _KNOWN_S)


def _ask_stop(client: ConnectClient, name: str) -> None:
    from kconnect.rest.client import RestError

    try:
        client.stop(name)
    except RestError as error:
        raise explained(client, name, error) from error


def _wait_stopped(client: ConnectClient, name: str) -> None:
    client.wait_for(name, "STOPPED", tasks=0, timeout=_STOP_S)


def _bring_back(name: str, back: Callable[[str], None], word: str, so_far: str) -> None:
    try:
        back(name)
        click.echo(f"{name} is {word}d again", err=True)
    except ConnectError as error:
        raise ConnectError(
            f"{so_far}, but {name} could not be brought back ({error}): it is STOPPED. To bring it back: kconnect {word} {name}"
        ) from error


def _say_where_it_is(client: ConnectClient, name: str, word: str) -> None:
    try:
        state = f"is {client.status(name)['connector']['state']}"
    except ConnectError as error:
        state = f"may be stopped (its state is not known: {error})"
    click.echo(
        f"Interrupted: {name} {state}. Its offsets may have been changed; to see them: kconnect offsets get "
        f"{quote(name)}. To let it continue: kconnect {word} {quote(name)}",
        err=True,
    )


def write(client: ConnectClient, name: str, change: Callable[[], str], wanted: Entries | None) -> str:
    """
    Change offsets, and return the worker's answer, once the offsets that are read back are those wanted; None for none at all.

    A worker that says that the tasks are still ending, or that it has no leader, is asked again for a while.
    """
    from kconnect.rest.client import RestError

    end = time.monotonic() + _WRITE_S
    while True:
        try:
            answer = change()
            break
        except RestError as error:
            if not _not_yet(error) or time.monotonic() > end:
                raise explained(client, name, error) from error
        time.sleep(_PAUSE_S)
    end = time.monotonic() + _SHOWN_S
    while True:
        offsets = client.offsets(name)
        wrong = entries.differences(offsets, []) if wanted is None else entries.unlike(wanted, offsets)
        if not wrong or time.monotonic() > end:
            break
        # A worker reads its offsets from Kafka, and may show what it wrote a moment later.
        time.sleep(_PAUSE_S)
    if wrong:
        first = wrong[0]
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise ConnectError(
            f"{name}: the worker accepted the offsets, but now shows others: {entries.text(first.partition)} is at "
            f"{entries.text(first.here)}{more}. Find out whether something else changes them"
        )
    return answer


def _not_yet(error: RestError) -> bool:
    return error.status == 409 or (error.status in (400, 500) and any(text in error.message for text in _NOT_YET))


def explained(client: ConnectClient, name: str, error: RestError) -> ConnectError:
    """A refusal by a worker, with what helps where its own words don't say it."""
    from kconnect.rest.client import RestError

    if lacks_offsets(error):
        version = _version(client)
        return NotFoundError(
            f"The worker at {client.url} ({version}) can't change offsets: that needs Kafka Connect 3.6 or newer"
        )
    message = str(error.message)
    if error.status == 500 and "consumer group" in message and ": " not in message:
        return RestError(error.status, f"{message.rstrip('.')}. {_group_remedy(client, name)}")
    if error.status == 500:
        return RestError(error.status, f"{name}: the plugin refused the change, or the worker could not make it: {message}")
    return RestError(error.status, message) if error.status is not None else error


def lacks_offsets(error: RestError) -> bool:
    """Whether that is a worker's answer to a path that it has not, or not for that method. Of 3.5 and before."""
    return error.status == 405 or (error.status == 404 and error.message.startswith("HTTP 404"))


def _version(client: ConnectClient) -> str:
    try:
        return f"version {client.root()['version']}"
    except (ConnectError, KeyError):
        return "of an unknown version"


def _group_remedy(client: ConnectClient, name: str) -> str:
    try:
        group_set = client.get_config(name).get("consumer.override.group.id")
    except ConnectError:
        group_set = None
    group = f"the group {group_set} (its consumer.override.group.id)" if group_set else f"the group connect-{name}"
    return f"Check that all these topics and partitions exist, and that no other consumer uses {group}"
