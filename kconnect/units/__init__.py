"""
What runs in a host: the life of a connector instance or a task, a thread each.

`unit.py` is that life, `connector_unit.py` and `task_unit.py` the two kinds, `source_task.py` and `sink_task.py` the threads
that step the pumps of `core/task`. `gate.py` is what an exactly-once source passes first, `offsets.py` and its siblings store
source offsets, `reports.py` writes dead letters, `owners.py` knows whose a thread is.

What breaks? The order of flush, offsets, announced topics and commits is what users are promised; it is said in `core/task`,
and `scripts/chaos` counts what is lost or doubled.
"""
