"""
Two versions of one connector beside each other, chosen by `connector.plugin.version`. Read next: `debezium.py`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.rig.java_parity.cases import debezium
from tests.rig.java_parity.run import Case, Observed
from tests.rig.java_parity.side import Side

OLD = "3.5.0.Final"
NEW = "3.6.1.Final"


def _run(side: Side) -> Observed:
    debezium.make_database(side, "create table orders (id int primary key, city text);", "insert into orders values (1, 'a');")
    chosen: dict[str, dict[str, str]] = {
        "old": {"connector_plugin_version": f"[{OLD}]"},
        "new": {"connector_plugin_version": NEW},
        "newest": {},
    }
    sources = {
        name: debezium.source(side, name, table_include_list="public.orders", **debezium.BARE, **more)
        for name, more in chosen.items()
    }
    side.start(sources)
    topics = {name: f"{name}.public.orders" for name in sources}
    side.wait_for(dict.fromkeys(topics.values(), 1))
    side.wait(lambda: len(debezium.reading(side)) == len(sources), "all slots are read")
    side.postgres.execute("insert into orders values (2, 'b'); delete from orders where id = 1;", debezium.DATABASE)
    side.wait_for(dict.fromkeys(topics.values(), 4))
    observed: Observed = {f"{name}, status": side.status(name) for name in sources}
    side.stop(*sources)
    for name, topic in topics.items():
        seen: dict[str, Any] = {"offsets": side.offsets(name), "records": side.records(topic)}
        records = seen["records"][topic]["partition 0"]
        written = {record["value"]["source"]["version"] for record in records if record["value"] is not None}
        wanted = OLD if name == "old" else NEW
        assert written == {wanted}, f"{name} was to run in version {wanted}, and ran in {written}"
        observed |= {f"{name}, {title}": data for title, data in debezium.same(side, seen).items()}
    for version in (OLD, NEW, "[3.5,3.6)", "[1.0]", "nonsense"):
        config = {**sources["new"], "name": "new", "connector.plugin.version": version}
        observed[f"validate, {version}"] = side.answered(partial(side.validated, config))
        observed[f"config of the plugin, {version}"] = side.answered(partial(side.plugin_config, debezium.SOURCE, version))
    side.delete(*sources)
    debezium.drop_slots(side, sources)
    return observed


VERSIONS = Case("versions", (debezium.POSTGRES, debezium.POSTGRES.replace(NEW, OLD)), _run)
