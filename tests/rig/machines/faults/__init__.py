"""
What hurts the rig of several machines: a table of kinds, each with what it does and how it heals.

`table.py` has the table, `scene.py` what a fault may use; the other modules have the faults, by what they hurt. Read next:
`table.py`.
"""
