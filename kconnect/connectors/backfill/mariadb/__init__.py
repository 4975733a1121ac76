"""
A first copy of tables of MariaDB: what Debezium's snapshot would write, read by all tasks at once, from which Debezium goes on.

`source.py` notes the place in the server's log at which Debezium begins, and divides the tables; `task.py` reads. What both
databases share is one folder up. Read next: `source.py`.
"""
