"""
Delta: a sink that appends records to tables of Delta Lake, or upserts them, on delta-rs: `pip install 'kconnect[delta]'`.

No Spark and no JVM is needed. `settings.py` has what a config may say, `connector.py` checks it and asks the store. `lake.py`
finds, makes and widens tables, `commits.py` writes rows together with their offsets, `asking.py` is how the library is called,
`task.py` has the task.
"""
