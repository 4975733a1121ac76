"""
Dead letter queues, as `kconnect dlq` and the REST API have them: read, tried on a connector's chain, and replayed once.

`letters.py` says what a letter tells, `choice.py` which ones are meant, `queue.py` reads a queue, `memory.py` knows what has
been replayed, `chains.py` runs letters through a connector's chain, `planning.py` decides what a replay writes and `sending.py`
writes it. `child.py` does all of that for a worker, in a process of its own.
"""
