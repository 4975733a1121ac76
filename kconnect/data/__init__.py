"""
Connect's data model: schemas, structs, and values in Java's text and conversions.

`schema.py` and `values.py` are public through `kconnect.api`; the others are what they need. They follow Connect's `Schema`,
`Struct`, `Values` and `SchemaProjector` exactly, oddities included: golden cases of the Java classes hold every branch. Nothing
here knows of Kafka.
"""
