"""
How commands reach a worker: `--url`, `--user`, `--context`, and what the environment and the file of contexts say.

A command takes `@connection.options`, gets `target`, and uses it in `with target.connect() as client`. A password comes from
KCONNECT_PASSWORD or is asked for, a token comes from KCONNECT_TOKEN: neither is ever on the command line, which every user of
the machine can read. Read next: `brokers.py` for the commands that ask Kafka, `contexts.py` for the file.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kconnect.cli import contexts
from kconnect.cli.brokers import Brokers, told_once

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

DEFAULT_URL = "http://localhost:8083"
_URL_VARIABLES = ["KCONNECT_URL", "KAFKA_CONNECT_URL"]
_OF_REST = re.compile(r"/(?:connectors|connector-plugins|console|docs|health|metrics|admin/loggers)(?:/.*)?$")
"""What people leave at the end of an address. A proxy may serve a worker below any path, so it is tried all the same."""


@dataclass(frozen=True)
class Target:
    """A worker to ask, and who asks. `user` None: whoever KCONNECT_TOKEN is, else nobody in particular."""

    url: str
    user: str | None = None

    @contextmanager
    def connect(self, timeout: float | None = None) -> Iterator[ConnectClient]:
        """
        A client, which several threads may use at once. `timeout`: seconds to wait for an answer, if not the client's own. What
        is refused only because a cluster rebalances is asked again for 30 seconds. What takes long is told, if there is no
        `timeout`.

        UsageError if a password is needed and there is no terminal to ask for it.
        """
        from kconnect.cli import waiting
        from kconnect.rest.client import ANSWER_S, PATIENCE_S, ConnectClient, RestError

        tell: Any = waiting.told if timeout is None else nullcontext
        authorization = self._authorization
        patience = PATIENCE_S if timeout is None else min(timeout, PATIENCE_S)
        with ConnectClient(self.url, timeout or ANSWER_S, None, authorization, patience, tell) as client:
            try:
                yield client
            except RestError as error:
                if error.status == 404 and (path := _OF_REST.search(self.url)):
                    remedy = f"{self.url} is an address of the REST API. Give the worker's: {self.url[: path.start()]}"
                    raise RestError(404, f"{error.message}. {remedy}") from error
                if error.status != 401 or authorization is not None:
                    raise
                remedy = "Give --user NAME, or a token in the environment variable KCONNECT_TOKEN."
                raise RestError(401, f"The worker at {client.url} asks who you are. {remedy}") from error

    @property
    def asks(self) -> bool:
        """Whether `connect` asks for a password."""
        return self.user is not None and "KCONNECT_PASSWORD" not in os.environ

    def log_in(self) -> None:
        """Ask for the password now, if one is needed, rather than in `connect`, which may be in a thread."""
        self._authorization  # noqa: B018 - it is kept

    @functools.cached_property
    def _authorization(self) -> str | None:
        """Kept, so that a password is asked for once however often the command connects."""
        from kconnect.rest.client import basic, bearer

        if self.user is None:
            token = os.environ.get("KCONNECT_TOKEN")
            return bearer(token) if token else None
        password = os.environ.get("KCONNECT_PASSWORD")
        if password is None:
            if not sys.stdin.isatty():
                raise click.UsageError(f"There is no terminal to ask for the password of {self.user}: set KCONNECT_PASSWORD.")
            password = click.prompt(f"Password of {self.user}", hide_input=True, err=True)
        return basic(self.user, password)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--url`, `--user` and `--context`, which the command gets as `target`."""

    @functools.wraps(command)
    def with_target(*arguments: Any, **values: Any) -> Any:
        return command(*arguments, target=target_of(click.get_current_context()), **_without(values))

    return _url(_user(_context(with_target)))


def later(command: Callable[..., Any]) -> Callable[..., Any]:
    """
    Add the options for a command that mostly asks no worker: it gets a function as `target`, so that neither the contexts' file
    nor a URL is read, and can be wrong, before it is called.
    """

    @functools.wraps(command)
    def with_function(*arguments: Any, **values: Any) -> Any:
        return command(*arguments, target=functools.partial(target_of, click.get_current_context()), **_without(values))

    return _url(_user(_context(with_function)))


def optional(help: str, environment: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """
    Add the options for a command that asks a worker only where one is named: `target` is None without `--url` and `--context`.
    `environment`: KCONNECT_URL names one, too. `help` says what the worker is asked for.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_target(*arguments: Any, **values: Any) -> Any:
            context = click.get_current_context()
            named = context.params["url"] is not None or context.params["context"] is not None
            return command(*arguments, target=target_of(context) if named else None, **_without(values))

        envvar = _URL_VARIABLES if environment else None
        option = click.option("--url", metavar="URL", envvar=envvar, show_envvar=environment, help=help)
        return option(_user(_context(with_target)))

    return add


def kafka_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """
    Adds `--bootstrap-server`, `--command-config`, `--worker-file` and `--context`, which the command gets as `brokers`.

    None of them is required here: `brokers.known` tells whether there is an address, and using it without one is a UsageError
    that says how to give it.
    """
    return _kafka(command, ())


def topic_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """
    `kafka_options`, and `--config-topic`, `--offset-topic`, `--status-topic` and `--group`, for a command that reads internal
    topics: `brokers.topics` has their names.
    """
    return _kafka(command, ("config_topic", "offset_topic", "status_topic", "group"))


def _kafka(command: Callable[..., Any], topics: tuple[str, ...]) -> Callable[..., Any]:
    @functools.wraps(command)
    def with_brokers(
        *arguments: Any, bootstrap_server: str | None, command_config: str | None, worker_file: str | None, **values: Any
    ) -> Any:
        told_once(click.get_current_context())
        topic_names = {name: values.pop(name) for name in topics}
        named = values.pop("context", None) or click.get_current_context().params["context"]
        # Where the command line names a cluster, the current context must not add another one's logins.
        says = bool(bootstrap_server or worker_file) and named is None
        context = contexts.Context() if says else contexts.load().get(named)
        if named is None and _is_another(click.get_current_context().params.get("url"), context):
            # What is asked of Kafka must be about the cluster that `--url` or the environment names, too.
            context = contexts.Context()
        brokers = Brokers(
            bootstrap_server or (None if worker_file else context.bootstrap_server),
            command_config or context.command_config,
            worker_file or context.worker_file,
            topic_names,
        )
        return command(*arguments, brokers=brokers, **values)

    file = click.Path(dir_okay=False)
    options = [
        click.option("--bootstrap-server", metavar="HOST:PORT", help="Where Kafka is. Default: the worker file's."),
        click.option(
            "--command-config",
            type=file,
            metavar="FILE",
            help="A properties file for Kafka clients, as Kafka's tools take it.",
        ),
        click.option(
            "-w",
            "--worker-file",
            type=file,
            metavar="FILE",
            help="A worker's properties file, for its brokers, logins and topics.",
        ),
    ]
    options += [
        click.option(f"--{name.replace('_', '-')}", name, metavar="NAME", help=f"{_TOPICS[name]} Default: the worker file's.")
        for name in topics
    ]
    with_options = _context(with_brokers)
    for option in reversed(options):
        with_options = option(with_options)
    return with_options


_TOPICS = {
    "config_topic": "The topic of connectors' configs.",
    "offset_topic": "The topic of source connectors' offsets.",
    "status_topic": "The topic of statuses.",
    "group": "The workers' group.id.",
}


def _is_another(url: str | None, context: contexts.Context) -> bool:
    """Whether the worker of the command line is none of the context's cluster, as far as URLs tell."""
    return url is not None and context.url is not None and url.rstrip("/") != context.url.rstrip("/")


def _url(command: Callable[..., Any]) -> Callable[..., Any]:
    url = click.option(
        "--url",
        metavar="URL",
        envvar=_URL_VARIABLES,
        show_envvar=True,
        help=f"Any worker of the cluster. Default: the context's, else {DEFAULT_URL}.",
    )
    return url(command)


def _user(command: Callable[..., Any]) -> Callable[..., Any]:
    user = click.option(
        "--user",
        metavar="NAME",
        help="Your user name. Default: KCONNECT_USER. The password is read from KCONNECT_PASSWORD, or asked for; a token in "
        "KCONNECT_TOKEN needs no name.",
    )
    return user(command)


def _context(command: Callable[..., Any]) -> Callable[..., Any]:
    # A command that asks both a worker and Kafka has it once.
    if any(option.name == "context" for option in getattr(command, "__click_params__", ())):
        return command
    context = click.option(
        "--context",
        metavar="NAME",
        shell_complete=complete_context,
        help="A name from `kconnect context list`. Default: the current context.",
    )
    return context(command)


def _without(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in ("url", "user", "context")}


def target_of(context: click.Context) -> Target:
    """
    The worker that `--url`, `--user` and `--context` of a command line mean, which may not be whole yet.

    What stands there goes before the environment, and that before the current context. A context's user is for its own URL.
    """
    url: str | None = context.params.get("url")
    user: str | None = context.params.get("user")
    name: str | None = context.params.get("context")
    from_environment = context.get_parameter_source("url") == click.core.ParameterSource.ENVIRONMENT
    chosen = contexts.load().get(name) if url is None or name is not None else contexts.Context()
    is_context_s = url is None or (from_environment and chosen.url is not None)
    if url is None or is_context_s:
        url = chosen.url or DEFAULT_URL
    if user is None and not os.environ.get("KCONNECT_TOKEN"):
        user = os.environ.get("KCONNECT_USER") or (chosen.user if is_context_s else None)
    return Target(contexts.check_url(url), user)


def named(text: str, user: str | None) -> Target:
    """The worker that a URL or the name of a context means, for a command that asks several clusters."""
    chosen = contexts.Context(url=text) if "://" in text else contexts.load().get(text)
    if user is None and not os.environ.get("KCONNECT_TOKEN"):
        user = os.environ.get("KCONNECT_USER") or chosen.user
    return Target(contexts.check_url(chosen.url or DEFAULT_URL), user)


def complete_context(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of contexts, for the shell."""
    try:
        return [
            CompletionItem(name, help=of_name.url)
            for name, of_name in contexts.load().by_name.items()
            if name.startswith(begun)
        ]
    except contexts.ContextError:
        return []
