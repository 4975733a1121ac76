"""
TLS from Java's `ssl.*` settings: `stores` reads keystores and truststores, `contexts` makes Python's contexts of them.

Below the shells, so that all of them may share it: REST's listeners, what workers ask of each other, Kafka's clients. Passwords
and keys pass through here: no error text quotes one, and nothing is written to a file that others may read.
"""
