"""
The engine of `kconnect preview` and `kconnect test`: a connector's chain on single records, without a worker.

`preview.py` runs the very steps that tasks run, `cases.py` compares with what a file expects, `kafka/sample.py` fetches some
messages of a topic and commits nothing, `envelopes.py` is the form of records in JSON, which the golden data shares. It must
never do what a task would not do.
"""
