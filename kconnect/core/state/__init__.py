"""
The internal topics: what each record means, and the state that they fold to.

`records.py` and `assignment_records.py` alone know the bytes: every key, value version and tombstone. `config.py`, `status.py`,
`offsets.py` and `assignment.py` fold them. Kafka Connect of every version reads and writes the same topics: a field that it
does not know must not hurt it, a record that can't be read becomes `Broken` and never an exception.
"""
