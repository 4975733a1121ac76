"""
`kconnect topics …`: the internal topics, looked into, checked, saved and put back.

One command a module (`check.py`, `dump.py`, `compact_view.py`, `export.py`, `restore.py`). Under them is
`kconnect/internal_topics/`, which reads and checks; `snapshot.py` and `restoring.py` are the way to a file and back. What bytes
mean is known by `core/state` alone. Only `restoring.py` writes, and only into topics that are fresh.
"""
