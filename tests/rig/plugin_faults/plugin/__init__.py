"""
The plugin that misbehaves, and the two connectors beside it that don't. `tests/rig/plugin_faults/package.py` copies this
folder.

It imports the public API and its own modules only, as any plugin, and is never imported by the harness itself.
Read next: `faults.py`, then `bad.py`.
"""
