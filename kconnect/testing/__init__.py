"""
Tests of plugins: what authors of connectors, transforms, predicates, converters and config providers import.

No broker, no Spark, no worker: `SourceRunner` and `SinkRunner` run a connector and a task by hand, `transform`, `holds` and
`round_trip` do the same with what stands in between, `config_errors` validates a config as REST does, and `check_plugin` looks
for what commonly goes wrong. `kconnect.testing.local.LocalConnect` is the real thing, a broker and a worker on this machine.
docs/plugins.md shows all of them at work. The other modules here are kconnect's own.
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
