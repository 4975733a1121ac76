"""
Every setting, declared once: name, type, default, validator, importance, doc.

`worker.py` is the worker file, `source.py`, `sink.py`, `common.py`, `errors.py` and `topic_creation.py` are those of
connectors. Validation, REST's ConfigInfos and the docs read these tables. Names, defaults and the order of definitions are
Kafka Connect's: `tests/rig/parity` compares them. A new setting is one row and, if code reads it, a test of what it does.
"""
