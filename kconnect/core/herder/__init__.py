"""
The herder of one worker: `Herder.handle(event, now)` gives effects, which `worker/loop.py` performs in order.

`requests` are what REST asks, with its answers, `events` what happens, `effects` what is to be done, `procedures` generators
that wait for records, time or other workers. `leader.py`, `placing.py` and `fencing.py` are what a worker does as leader and
for its hosts. None of them holds the herder: they get a desk (`desk.py`), and read the log on it (`log.py`).

Writing is not knowing: a handler returns records, and state changes only when a record is read again. Whoever breaks that loses
writes when a leader changes, and tests/scenarios shows it.
"""
