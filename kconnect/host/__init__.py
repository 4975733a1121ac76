"""
The processes on Spark's side: the driver, and the hosts that run units.

`driver.py` starts Spark and keeps a host process for each place that the log names; `main.py` is such a host: it reads the log,
starts and stops units, and says what it holds. `containment.py`, `guard.py`, `blackbox.py`, `output.py`, `memory.py` and
`stops.py` keep one unit's plugin code from hurting the others; `core/cluster/lease.py` is the lease: without the log a host
pauses, and after a while gives all up.

What breaks? A host that speaks or runs on after it has lost a unit makes two tasks of one. Every path to plugin code asks for
leave first (`Unit.may_work`). Chaos runs and `scripts/plugin-faults` are what holds this folder.
"""
