"""
Spark: a sink that appends records to tables of Delta Lake or Apache Iceberg, or merges them, by an application of Spark's.

Tasks read and convert as all sinks do; what Spark does is what only it can: a MERGE of any size, in parallel, on tables of any
writer. `settings.py` has what a config may say, `connector.py` checks it, `task.py` has the task, `lake.py` the tables as tasks
know them, `targets.py` how commits are asked for. `staging.py` and `copies.py` are a backfill's, for a first copy of tables.
`application.py` starts Spark, in a process of its own with its own PySpark; `session/` is what runs there.
docs/design/connectors.md has the reasons.
"""
