"""
Datagen: a source that makes up realistic records by a schema, for demos and load tests.

`connector.py` has the settings and what they mean together, `schemas.py` reads an Avro or a JSON Schema, `generators.py` makes
columns of values by it, `task.py` turns these into records, at the rate that is asked for. Faker, which knows names and
addresses, comes with `pip install 'kconnect[datagen]'`.
"""
