"""
The harness for the connectors in the box: the same trials for each of them, on a real worker against the real system.

`sinks.py` has those of sinks. A connector's test says what its system is (`Target`), and runs all of them.
"""
