"""
Iceberg: a sink that appends records to tables, or upserts them, on pyiceberg: `pip install 'kconnect[iceberg]'`.

`settings.py` has what a config may say, `connector.py` checks it and asks the catalog. `catalogs.py` reaches that, `lake.py`
finds, makes and widens tables, `commits.py` writes rows together with their offsets, `staging.py` is how tasks share a commit,
`task.py` has the task, most of which is in `connectors/lake`.
"""
