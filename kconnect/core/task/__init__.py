"""
The data path without I/O: what happens to a batch between a connector and Kafka.

A caller that has a thread and a clock steps `source_pump.py` or `sink_pump.py` once for each batch. `delivery.py` has the order
of flush, offsets and announced topics, `topic_use.py` has KIP-558's rule, and `ports.py` declares what they need from outside.
`chain.py` and `steps.py` run transforms and converters over whole batches. `errors.py` decides what a failure means (KIP-298).
The offsets modules say which offsets may be stored or committed, and `meters.py` counts. Everything takes and returns lists:
work that a batch can share is not done for each record, and `scripts/bench chain` measures it. The order is the contract: an
offset is stored only after the records that it covers are acknowledged.
"""
