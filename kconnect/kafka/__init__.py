"""
The edge to Kafka: every client is made here, and every fault of librdkafka is understood here.

`clients.py` and `translation.py` make librdkafka's settings of Kafka's; `log.py` reads and writes the internal topics,
`group.py` elects the leader, `consumer.py`, `producer.py` and `transactions.py` are the tasks' clients, `fencing.py` and
`late_ends.py` what exactly-once needs; `cluster.py`, `reader.py`, `positions.py` and `probe.py` are what commands ask.

Comments here give the broker's behaviour with version and issue: keep them. A timeout or a retry that changes is a fault test
that has to be run (`scripts/chaos`).
"""
