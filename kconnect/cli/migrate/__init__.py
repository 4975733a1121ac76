"""
What `kconnect migrate` does, without its words: a connector moves from one cluster to another and is never run by both.

`decision.py` says from what both clusters show what is to be done, `checks.py` what hinders it, `move.py` does it step by step,
`journal.py` remembers the steps for a run that begins where another one was killed. `takeover.py` is the way for a whole
cluster that stays on its topics.
"""
