"""
The data path without I/O: what becomes of a batch between a connector and Kafka.

`source_pump.py` and `sink_pump.py` are stepped once a batch, by whoever has a thread and a clock; `delivery.py` is the order of
flush, offsets and announced topics, `topic_use.py` KIP-558's rule, and `ports.py` says what they ask of the world.
`chain.py` and `steps.py` run transforms and converters over whole batches, `errors.py` decides what a failure
means (KIP-298), the offsets modules say how far a task may say it has come. Lists in, lists out: nothing here is done for each
record that a batch can share, and `scripts/bench chain` measures it. Order is the contract: an offset is stored only after what
it covers is acknowledged.
"""
