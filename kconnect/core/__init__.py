"""
What is decided, without I/O: no client, no thread, no clock, no dice. Shells call it and carry out what it says.

`herder` decides for a worker, `cluster` for the placement of units on hosts, `state` folds the internal topics, `task` is the
data path, `settings` are the tables of settings, `metrics` what is counted.

What may I touch? Anything, with a test that steps it by hand. Import contracts (setup.cfg) refuse I/O. What breaks?
tests/scenarios plays random histories of whole clusters against the invariants; a rule that is weaker than before shows there
first.
"""
