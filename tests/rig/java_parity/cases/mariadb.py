"""
Debezium's MariaDB source: it has a Kafka client of its own, for the topic with the history of the tables' schemas.

The binary log begins anew for each side, so positions in it are the same. Read next: `../../systems/mariadb.py`.
"""

from __future__ import annotations

from tests.rig.java_parity import normal
from tests.rig.java_parity.cases.debezium import BARE, JSON
from tests.rig.java_parity.run import Case, Observed
from tests.rig.java_parity.side import Side

MARIADB = "io.debezium:debezium-connector-mariadb:3.5.0.Final"
_CLASS = "io.debezium.connector.mariadb.MariaDbConnector"

_BEFORE = """
drop database if exists shop; create database shop character set utf8mb4; use shop; reset master;
create table orders (
    id bigint primary key auto_increment, city varchar(40) not null, state enum('new', 'paid'), price decimal(12, 2),
    weight double, placed datetime(6), stamped timestamp(3) null, due date, at_time time(3), flags set('a',
    'b'), raw varbinary(20),
    document json, small tinyint unsigned, big bigint unsigned, year year
);
insert into orders values
    (1, 'Göteborg', 'paid', 12.50, 0.1, '2024-02-29 12:00:00.123456', '2024-02-29 10:00:00.123',
    '2024-02-29', '23:59:59.5', 'a,b',
     x'deadbeef', '{"b": [1, null]}', 255, 18446744073709551615, 2024),
    (2, '東京', null, null, null, null, null, null, null, null, null, null, null, null, null);
"""

_CHANGES = """
use shop;
insert into orders (id, city) values (3, 'Évora');
update orders set city = 'Malmö', price = price * 2 where id = 1;
alter table orders add column note text, drop column year;
begin; insert into orders (id, city, note) values (4, 'Aachen', 'noted'); update orders set note = 'late' where id = 2; commit;
delete from orders where id = 3;
create table parts (id int primary key, text varchar(20));
insert into parts values (1, 'one');
truncate table parts;
insert into parts values (2, 'last');
"""


def _run(side: Side) -> Observed:
    server = side.place.mariadb
    server.execute(_BEFORE)
    config = {
        "connector.class": _CLASS,
        "tasks.max": "1",
        "database.hostname": server.host,
        "database.port": str(server.port),
        "database.user": server.user,
        "database.password": server.password,
        "database.server.id": "5400",
        "database.ssl.mode": "disable",
        "database.include.list": "shop",
        "skipped.operations": "none",
        "topic.prefix": "maria",
        "schema.history.internal.kafka.bootstrap.servers": side.bootstrap_servers,
        "schema.history.internal.kafka.topic": "maria-history",
        "schema.history.internal.store.only.captured.databases.ddl": "true",
        "key.converter": JSON,
        "value.converter": JSON,
        **{name.replace("_", "."): value for name, value in BARE.items()},
    }
    side.start({"maria": config})
    side.wait_for({"maria.shop.orders": 2})
    side.wait(lambda: server.rows("select 1 from information_schema.processlist where command like 'Binlog%'"), "the log read")
    server.execute(_CHANGES)
    topics = ("maria.shop.orders", "maria.shop.parts", "maria")
    side.wait_for({"maria.shop.orders": 8, "maria.shop.parts": 3})
    observed: Observed = {"status": side.status("maria")}
    # Stopped and started, it goes on from its offset with the history that it reads from Kafka.
    side.stop("maria")
    server.execute("use shop; insert into orders (id, city) values (5, 'after the pause');")
    side.client.resume("maria")
    side.wait_for({"maria.shop.orders": 9})
    side.stop("maria")
    seen = {
        "offsets": side.offsets("maria"),
        "topics": side.topics(*topics, "maria-history"),
        "records": side.records(*topics),
        "history": side.records("maria-history"),
    }
    times = {f"ts_{unit}": normal.time_since(side.began, unit) for unit in ("ms", "us", "ns")}
    rules = {**times, "ts_sec": normal.time_since(side.began, "s"), r"__debezium\.context\.runId": normal.run_id}
    made = normal.apply(rules, seen)
    observed |= normal.apply(normal.Ranks("thread", {"thread": r"^\d+$"}, seen).rules, made)
    observed["topics used"] = sorted(side.client.topics("maria"))
    observed["validate"] = side.validated({**config, "name": "maria"})
    observed["config of the plugin"] = side.plugin_config(_CLASS)
    side.delete("maria")
    return observed


MARIADB_SOURCE = Case("mariadb", (MARIADB,), _run)
