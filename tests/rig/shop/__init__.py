"""
The demo of the connectors in the box, `scripts/demo --shop`: made-up orders go through a chain to PostgreSQL and to files.

`pipeline.py` has the connectors and the comparison of what came where, `demo.py` shows it, `__main__.py` is the command line.
"""
