"""
Commands about connectors: list them, change their config or state, read their logs.

One command a module. `get.py` is the group of `get`, for all kinds; `cli/target_states.py` is what `pause`, `resume`, `stop`,
`restart` and `wait` share. They ask REST only, and so work with Apache Kafka Connect, too. What changes several connectors goes
through `cli/selection.py`, which asks before it touches all of them.
"""
