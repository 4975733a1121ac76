"""
A first copy of tables: what Debezium's snapshot would write, read by all tasks at once from one snapshot of the database.

`source.py` holds the snapshot and divides the tables, `task.py` reads, and `into.py` reads straight into tables of a lake.
`kconnect backfill` (`cli/backfill/`) makes the connector from Debezium's, and hands over to that one. Read next: `source.py`.
"""
