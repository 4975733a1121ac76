"""
What the sinks for tables of a lake share: `IcebergSink`, `DeltaSink` and `SparkSink`.

`task.py` has their task: it routes records to tables, makes rows of them (`rows.py`, `casts.py`) and has these committed with
their offsets. `pending.py` is what it has taken and no table has yet. `changes.py` reads records
that say what was done to a row, `columns.py` says what a table may become,
`settings.py` what a config may say. A kind of lake is what `lakes.py` asks of one.
"""
