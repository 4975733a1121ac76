"""
Tests of plugins: what authors of connectors, transforms, predicates, converters and config providers import.

These tools need no broker, no Spark and no worker. `SourceRunner` and `SinkRunner` run a connector and a task by hand.
`transform`, `holds` and `round_trip` run a transform, a predicate and a converter. `config_errors` validates a config as REST
does, and `check_plugin` looks for common mistakes. `kconnect.testing.local.LocalConnect` runs a real broker and a real worker
on this machine. docs/plugins.md shows all of them in use. The other modules here are internal to kconnect.
"""

from __future__ import annotations

from kconnect.testing.plugins.checks import PluginProblems, check_plugin
from kconnect.testing.plugins.configs import config_errors, config_infos, configured
from kconnect.testing.plugins.records import holds, round_trip, sink_records, source_record, transform
from kconnect.testing.plugins.sink import SinkRunner
from kconnect.testing.plugins.source import SourceRunner, Transaction

__all__ = [
    "PluginProblems",
    "SinkRunner",
    "SourceRunner",
    "Transaction",
    "check_plugin",
    "config_errors",
    "config_infos",
    "configured",
    "holds",
    "round_trip",
    "sink_records",
    "source_record",
    "transform",
]
