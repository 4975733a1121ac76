"""
The harness for the connectors in the box: the same trials for each of them, on a real worker against the real system.

`trials.py` has what all share, `sinks.py` and `sources.py` what is particular to either. A connector's test says what its
system is (`Target`, `Origin`), and runs all of them.
"""
