"""
The Spark application behind SparkSink: a process of another Python, whose PySpark fits the jars of the table formats.

`main.py` is its loop, `wire.py` how it is spoken to, `tables.py` what it does with a table, `copies.py` has the rows of staged
files, `delta.py` and `iceberg.py` what differs between formats, `catalogs.py` what a catalog is believed. It imports
nothing of kconnect but this folder, since nothing else needs to be installed there.
"""
