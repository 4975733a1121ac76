"""
Model-based tests of the connectors in the box: what `scripts/connector-truth` runs.

Each plays random histories (records, changes of tables, kills, restarts, rebalances, services that are slow or fail) against a
real server, and compares the target with a model at the end: what a connector has taken is there as it is, or refused aloud.
Read next: `engine.py`, which stands for the worker, and `values.py`, which says when two values are the same.
"""
