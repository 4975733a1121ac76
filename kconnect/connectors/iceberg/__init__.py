"""
Iceberg: a sink that appends records to tables, or upserts them, on pyiceberg: `pip install 'kconnect[iceberg]'`.

`settings.py` has what a config may say, `connector.py` checks it and asks the catalog. `catalogs.py` reaches that, `tables.py`
finds, makes and widens tables, `rows.py` makes rows of records, `commits.py` writes them together with their offsets,
`staging.py` is how tasks share a commit, `task.py` has the task.
"""
