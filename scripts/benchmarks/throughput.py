"""
Records a second and CPU a record, beside Apache Kafka Connect 4.3 on the same broker: whole workers, whole process trees.

The workloads are those of `tests/rig/benches/workloads.py`; `tests/rig/systems/rounds.py` says how they are measured.
`java.py` does the same with connectors in Java. Avro goes through a schema registry of the tests, in this process.
"""

from __future__ import annotations

import json

from tests.converters.test_schema_registry import Server
from tests.rig.benches import results, stage, workloads
from tests.rig.systems.rounds import Rounds, Topics


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm", type=int, default=2, help="runs of each workload before its rounds")
    parser.add_argument("--only", default="", help="workloads whose name contains this")
    options = parser.parse_args()
    found = results.Results("throughput", options.json)
    registry = Server()
    registry.start()
    registry.schemas.append({"schema": json.dumps(workloads.SCHEMA), "references": []})
    with stage.opened("throughput") as on:
        files = workloads.Files(on.directory, Topics(on.servers), options.records)
        functions = on.directory / "functions"
        functions.mkdir()
        (functions / "bench.py").write_text(workloads.FUNCTION, "utf-8")
        plain = {"python.transform.path": str(functions)}
        for group, made, properties in (
            ("", workloads.workloads(files, registry.url), plain),
            ("-exactly-once", workloads.exactly_once(files), {"exactly.once.source.support": "enabled"}),
        ):
            wanted = [workload for workload in made if options.only in workload.name]
            workers = on.both(group, properties) if wanted else {}
            rounds = Rounds(workers, options.rounds, found, options.warm)
            for workload in wanted:
                rounds.compare(workload)
            for worker in workers.values():
                worker.stop()
    registry.stop()


if __name__ == "__main__":
    main()
