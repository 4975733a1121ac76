"""
The connectors in the box: Kafka Connect's own file connectors, and those that people reach for first.

Each is made of the public API only, as any plugin is. A file connector is one module with its connector and its task; settings,
offsets and error texts are Connect's, so that configs and offsets move between Connect and kconnect, in both directions, and
`tests/rig/parity` compares them. Each of the others is a folder, whose `__init__` says where to begin. They are made of the
best library of their field, which an extra of the package brings along, and name their settings as the connector that people
know for it. The modules that need the library are imported in the functions that use them: without it a validation says what
to install, and the worker's list of plugins is complete.
"""
