"""
The same script of requests for Apache Kafka Connect 4.3.1 and for kconnect, and what differs in their answers and topics.

`script/` has the requests as data, `cluster.py` sends them, `normal.py` makes names and times the same, `compare.py` finds
places that differ, `known.py` lists those that may, `records.py` reads the internal topics. Called by `scripts/parity` and
`tests/parity`. Read next: `run.py`.
"""
