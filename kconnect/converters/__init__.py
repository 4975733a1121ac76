"""
Converters: Connect's data to and from bytes. One format a module or a few that share a name.

`json*.py` is JsonConverter, byte for byte as Jackson writes; `avro*.py` and `schema_registry*.py` are Confluent's
AvroConverter; `string.py`, `bytes.py`, `numbers.py` and `simple_header.py` are Connect's small ones. They use the public API
and the data model only.

Every one is held against what the Java class gives for the same input (tests/golden). A change of one byte is a change for
every topic in the field: a golden case comes first.
"""
