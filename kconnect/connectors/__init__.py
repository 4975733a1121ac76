"""
Kafka Connect's own file connectors.

Each is one module with its connector and its task, made of the public API only, as any plugin is. Settings, offsets and error
texts are Connect's: configs and offsets move between Connect and kconnect, in both directions, and `tests/rig/parity` compares
them.
"""
