"""
What plugin code may do wrong, in which call, and what happens to its neighbours: the fault matrix.

`scripts/plugin-faults` runs all of it on a real worker and prints a table; `tests/integration/test_plugin_faults.py` keeps the
cells that matter most. Read next: `places.py`, `run.py`.
"""
