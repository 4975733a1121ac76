"""
The internal topics: what each record means, and the state that the records fold to.

Only `records.py` and `assignment_records.py` know the bytes: every key, value version and tombstone. `config.py`, `status.py`,
`offsets.py` and `assignment.py` fold the records. Every version of Kafka Connect reads and writes the config, offset and status
topics too. So a field that it does not know must not harm it, and a record that can't be read becomes `Broken`, never an
exception.
"""
