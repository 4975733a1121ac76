"""
Commands and blocks of pages that nobody types here, by how they begin, and why.

Asked by `readings.py`; `test_blocks.py` looks whether each is on its page, and whether the tests that a reason names are there.
"""

from __future__ import annotations

_OWN_BROKER = "the tests have a broker and a worker at other ports; tests/cli/test_broker.py and tests/integration type it"
_NET = "it downloads from PyPI: tests/docs/test_blocks.py looks whether there is such an extra"
_ARCHIVE = "there is no such archive: tests/cli/test_plugin_install_java.py has others"
_MACHINES = "it needs root, a C compiler and an hour; tests/rig/test_machines.py plays a short run"

_DATABASE = "it needs a database: tests/integration/test_backfill.py types it with one"

LEFT_OUT: dict[tuple[str, str], str] = {
    ("../README.md", "./scripts/setup"): "the tests run in what it has made",
    ("../README.md", "./scripts/demo"): "it installs 0.7 GB; tests/cli/test_demo.py runs what it runs then",
    ("../README.md", "./scripts/test"): "it runs these tests",
    ("../README.md", ". .venv/bin/activate"): "the reader's commands are those of the tests' Python",
    ("../README.md", "kconnect broker start"): _OWN_BROKER,
    ("../README.md", "kconnect worker worker.properties"): _OWN_BROKER,
    ("../README.md", "REST clients"): "a drawing",
    ("plugins/api.md", "INT8 to INT64"): "a table of a docstring",
    ("design.md", "flowchart"): "a drawing",
    ("design.md", "sequenceDiagram"): "a drawing",
    ("design/handover.md", "stateDiagram"): "a drawing",
    ("getting-started.md", "kconnect broker start"): _OWN_BROKER,
    ("getting-started.md", "kconnect worker worker.properties"): _OWN_BROKER,
    ("getting-started.md", "docker compose"): "it needs Docker",
    ("several-machines.md", "scripts/chaos --machines"): _MACHINES,
    ("several-machines.md", ".venv/bin/python -m tests.rig.machines.report"): "it needs runs of an hour each",
    ("operating.md", ".venv/bin/kconnect cluster --url http://node-2:8083"): "it needs a second machine",
    ("operating.md", ".venv/bin/kconnect cluster drain"): "it needs a second machine: tests/integration/test_draining.py",
    ("operating.md", ".venv/bin/kconnect cluster undrain"): "it needs a second machine: tests/integration/test_draining.py",
    ("operating.md", "kconnect logs orders -f"): "it never ends: tests/integration/test_own_rest.py",
    ("operating.md", "SSL_CERT_FILE=ca.pem"): "it needs certificates: tests/integration/test_https.py",
    ("operating.md", "Joining the group was refused"): "it needs older brokers: tests/integration/test_group_protocol.py",
    ("operating.md", "2026-01-31T12:00:00.000Z"): "tests/docs/test_blocks.py compares it with what is written",
    ("operating.md", "kconnect plugin install 'acme-connector>=1.2'"): "there is no such package: plugins.md installs one",
    ("operating.md", "kconnect plugin install ./acme-connector-1.2.zip"): _ARCHIVE,
    ("java-connectors.md", "kconnect plugin install ./acme-connector-1.2.zip"): _ARCHIVE,
    ("connectors/spark.md", "kconnect lake setup"): "it installs 0.7 GB: tests/rig/systems/lake.py does so, once",
    ("connectors/spark.md", "lake.spark.sql."): "lines of a worker's file: tests/connectors/spark/test_spark_application.py",
    ("connectors/spark.md", "spark.sql."): "a line of a file for logins: tests/connectors/spark/test_spark_application.py",
    ("connectors/spark.md", "lake.python="): "a line of a worker's file, which tests/integration/test_spark_sink.py has",
    ("kubernetes.md", ""): "it needs a cluster: tests/docker/test_chart.py renders the chart",
    ("systemd.md", ""): "it needs systemd: tests/docker/test_systemd.py runs what the unit runs",
    ("cheat-sheet.md", "kconnect migrate"): "operating.md types it",
    **{("connectors/backfill.md", f"kconnect {words}"): _DATABASE for words in (
        "create -f", "backfill start", "backfill status", "backfill finish", "backfill again",
    )},
    ("connectors/backfill-mariadb.md", "kconnect create -f"): _DATABASE,
    ("connectors/backfill-mariadb.md", "kconnect backfill start"): _DATABASE,
    ("opentelemetry.md", "pip install"): _NET,
    ("opentelemetry.md", "opentelemetry.enabled"): "it needs a collector: tests/integration/test_opentelemetry.py",
    ("opentelemetry.md", "PUT /connectors"): "a drawing",
    ("opentelemetry.md", "source batch"): "a drawing",
    ("pyspark.md", "pip install"): _NET,
    ("pyspark.md", ". .venv/bin/activate"): "tests/spark/test_notebook.py runs what is typed into that Python",
    ("pyspark.md", "python"): "tests/spark/test_notebook.py runs what is typed into that Python",
    **{(f"connectors/{page}.md", "pip install"): _NET for page in (
        "datagen", "delta", "http", "iceberg", "objects-source", "objects", "search", "sql-source", "sql", "backfill",
        "backfill-mariadb",
    )},
}  # fmt: skip


def reason(page: str, text: str) -> str | None:
    """Return why a command or block of a page is left out, or None if it is not."""
    return next((why for (where, begin), why in LEFT_OUT.items() if where == page and text.startswith(begin)), None)
