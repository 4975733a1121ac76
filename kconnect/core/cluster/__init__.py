"""
Who runs what, and where. `assignor.py` divides units among workers, and `placement.py` divides them among a worker's hosts.
`handover.py` ensures that no unit runs twice. `host.py` is a host's own side.

This folder promises that a handover has no overlap. Each decision is a pure function of folded topics; the invariants in
`tests/rig/histories/invariants.py` check the decisions.
"""
