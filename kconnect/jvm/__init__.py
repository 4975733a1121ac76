"""
All that knows Java: its program, the jars of Kafka and Kafka Connect, and the JVM in which Java plugins run.

`java.py` finds Java and `jars.py` fetches jars. `machine.py` starts one JVM in a process that needs one, with the shim: the
classes in `shim/`, which take whole batches through a task and its chain, so that no record costs a call from Python. Only
this folder imports JPype; what the rest of kconnect gets is made of `kconnect.api`. A JVM can't be ended and started again in
one process, and none may exist before a fork. What stands for a part in Java is in the file that has the name of the one in
`units/` for a part in Python: `source_task.py`, `sink_task.py`, `task_class.py`, `transforms.py`, `converters.py`. Called by
`plugins/` and `units/`; `local/` and `worker/` use `java.py` and `jars.py` only.
"""
