"""
A first copy of tables: what Debezium's snapshot would write, read by all tasks at once.

Of PostgreSQL: `source.py` holds one snapshot for all and divides the tables, `task.py` reads, and `into.py` reads straight into
tables of a lake. `mariadb/` is the same for MariaDB; what both share begins with `range_` or is in `records.py`. The leader
makes the connector from Debezium's, and hands over to that one (`core/herder/requests/backfill.py`). Read next: `source.py`.
"""
