"""
`kconnect operator`: connectors as resources of Kubernetes.

`decision.py` is pure: from a resource, what the worker says, and the time it computes what to do. `status.py` computes what the
resource then shows. `reconciling.py` asks the worker and does it, by the steps of `cli/apply`; `shell.py` is the thin layer
around kopf. Whoever changes a rule changes it in `decision.py`; what breaks first is that nothing is deleted which is not the
resource's own.
"""
