"""
Change data capture by Debezium's connectors, from a PostgreSQL of its own into another database: `scripts/demo --cdc`, and what
`tests/integration/test_cdc.py` moves. Read next: `pipeline.py`.
"""
