"""
What every process of a worker shares: its logging, its levels, its worker file.

Imported by the worker, the driver, hosts and sandbox children, so that it stays light and imports neither REST nor PySpark.
`logs.py` blots secrets out of every line: a new way to write a log goes through it.
"""
