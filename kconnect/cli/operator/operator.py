"""`kconnect operator`: keeps connectors as resources of Kubernetes say. Read next: `shell.py`."""

from __future__ import annotations

import sys

import click

from kconnect.cli import connection
from kconnect.cli.connection import Target
from kconnect.errors import ConnectError


@click.command()
@click.option("--crd", is_flag=True, help="Print the definition of the resource Connector for `kubectl apply`, and end.")
@click.option(
    "-n",
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    help="Where to look for resources; repeatable. Default: all.",
)
@click.option(
    "--cluster",
    metavar="NAME",
    help="Only resources whose label kconnect.dev/cluster, or strimzi.io/cluster, is NAME. Default: all.",
)
@click.option("--strimzi", is_flag=True, help="Look at Strimzi's KafkaConnector resources, too.")
@click.option(
    "--interval",
    type=click.FloatRange(1, 3600),
    default=30.0,
    show_default=True,
    help="After how many seconds each connector is compared again, without an event.",
)
@click.option("--health-port", type=click.IntRange(1, 65535), help="Answer at /healthz on this port, for a liveness probe.")
@connection.options
def operator(
    target: Target,
    crd: bool,
    namespaces: tuple[str, ...],
    cluster: str | None,
    strimzi: bool,
    interval: float,
    health_port: int | None,
) -> int:
    """
    Keep connectors as resources of Kubernetes say.

    \b
      kconnect operator --crd | kubectl apply -f -
      kconnect operator --url http://localhost:8083 --namespace data
      kconnect operator --namespace data --strimzi --cluster my-connect

    It creates, changes, pauses, stops, restarts and deletes connectors through the worker's REST API, as `kconnect apply` does,
    and writes what becomes of them into the resources. A connector that no resource has created is left alone, until a
    resource is told to adopt it.

    It finds Kubernetes by the service account of its pod, or by a kubeconfig. It needs the packages of kconnect[kubernetes].
    docs/kubernetes.md explains the resource.
    """
    if crd:
        import yaml

        from kconnect.cli.operator.crd import definition

        click.echo(yaml.safe_dump(definition(), sort_keys=False, allow_unicode=True, width=120), nl=False)
        return 0
    try:
        import kopf  # noqa: F401 - to see whether it is there
    except ImportError as error:
        version = "" if sys.version_info >= (3, 11) else ", which needs Python 3.11 or newer"
        raise ConnectError(f"{error.name} is missing: pip install 'kconnect[kubernetes]'{version}") from None
    from kconnect.cli.operator import shell

    target.log_in()
    shell.run(target, shell.Options(namespaces, cluster, strimzi, interval, health_port))
    return 0
