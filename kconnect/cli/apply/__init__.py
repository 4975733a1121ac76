"""
`kconnect apply` and `diff`: connectors become what files say.

`plan.py` decides what there is to do, from files and from what the cluster shows; `run.py` does a step; `applying.py` does all
of them at once. `create`, `edit` and `patch` use the same steps. Whoever changes a rule changes it in `plan.py`, which is pure;
what breaks else is `apply` twice in a row, which must change nothing the second time.
"""
