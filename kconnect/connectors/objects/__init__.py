"""
Object stores: a sink that writes files to S3, GCS, Azure, HDFS or a local directory, and a source that reads files from there:
`pip install 'kconnect[objects]'`.

`settings.py` has what a config may say, `connector.py` checks it and asks the store (`stores.py`; for HDFS `hadoop.py`).
`partitioners.py` says which folder a record is for, `formats.py` writes files, `files.py` keeps those of one partition of Kafka
until they are whole, `task.py` has the task. For the source there are `source_settings.py`, `source.py`, `readers.py` for
files, `source_task.py`.
"""
