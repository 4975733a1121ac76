"""
SQL: a sink that writes records as rows, and a source that reads rows as records, on SQLAlchemy 2, which knows databases'
dialects: `pip install 'kconnect[sql]'`.

Both need SQLAlchemy but for their settings and `connector.py` and `source.py`, which check a config and ask the database.
`urls.py` and `database.py` reach a database and know its errors. The sink: `settings.py`, `types.py` has types and values,
`tables.py` finds, makes and widens tables, `rows.py` makes rows of records, `statements.py` writes them, `offsets.py` keeps
offsets beside them, `task.py` has the task. The source: `source_settings.py`, `listing.py` finds tables, `relations.py` knows
their columns, `fields.py` how to read those, `positions.py` has offsets, `reader.py` what is new, `source_task.py` the task.
"""
