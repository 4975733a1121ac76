"""The names of what plugins publish: as of Prometheus' JMX exporter, with rules that others publish, or without any."""

from __future__ import annotations

import pytest

from kconnect.core.metrics.published import Published, of_bean


@pytest.mark.parametrize(
    ("bean", "attribute", "name", "labels"),
    [
        (
            "debezium.postgres:type=connector-metrics,context=streaming,server=pg",
            "MilliSecondsBehindSource",
            "debezium_metrics_MilliSecondsBehindSource",
            {"plugin": "postgres", "context": "streaming", "name": "pg"},
        ),
        (
            "debezium.sql_server:type=connector-metrics,server=s,task=0,context=snapshot,database=d",
            "RemainingTableCount",
            "debezium_metrics_RemainingTableCount",
            {"plugin": "sql_server", "name": "s", "task": "0", "context": "snapshot", "database": "d"},
        ),
        (
            'kafka.connect.mirror:type=MirrorSourceConnector,source=a,target=b,topic="a,b=\\"c\\"",partition=3',
            "replication-latency-ms-avg",
            "kafka_connect_mirror_mirrorsourceconnector_replication_latency_ms_avg",
            {"source": "a", "target": "b", "topic": 'a,b="c"', "partition": "3"},
        ),
        (
            "kafka.consumer:type=consumer-fetch-manager-metrics,client-id=c-1,topic=t,partition=0",
            "records-lag",
            "kafka_consumer_fetch_manager_records_lag",
            {"clientid": "c-1", "topic": "t", "partition": "0"},
        ),
        (
            "kafka.connect:type=plugins,connector=x,task=0,transformation=t",
            "calls-total",
            "kafka_connect_plugins_calls_total",
            {"connector": "x", "task": "0", "transformation": "t"},
        ),
        ("com.zaxxer.hikari:type=Pool (my pool)", "ActiveConnections", "com_zaxxer_hikari_pool_my_pool_activeconnections", {}),
        ("9lives:2nd=x,3rd=é", "A", "_9lives_x_a", {"_3rd": "é"}),
    ],
)
def test_names_and_labels(bean: str, attribute: str, name: str, labels: dict[str, str]) -> None:
    prefix, found, values = of_bean(bean, {attribute: 7.0})
    ((end, number),) = values.items()
    assert (f"{prefix}_{end}", dict(found), number) == (name, labels, 7.0)


def test_a_row_of_a_table_is_known_by_its_key() -> None:
    bean = "debezium.postgres:type=connector-metrics,context=snapshot,server=pg"
    labels = (("plugin", "postgres"), ("context", "snapshot"), ("name", "pg"), ("table", "public.orders"))
    assert of_bean(bean, {"RowsScanned": 5}, "public.orders") == Published("debezium_metrics", labels, {"RowsScanned": 5})
