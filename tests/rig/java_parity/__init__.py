"""
The same Java connectors on Apache Kafka Connect 4.3.1 and on kconnect, one after the other on the same data, and what differs.

`cases/` has what is run, as functions over a `Side`; `side.py` is one of the two, with its broker and its worker; `normal.py`
has the named rules for what can't be the same twice, such as times; `known.py` lists what may differ. Called by
`scripts/java-parity` and `tests/integration/test_java_parity.py`. Read next: `run.py`.
"""
