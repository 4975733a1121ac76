"""
Who runs what where: `assignor.py` divides units among workers, `placement.py` among a worker's hosts, `handover.py` sees to it
that no unit runs twice, `host.py` is a host's own side.

No overlap at a handover is the promise of this folder. Each decision is a pure function of folded topics; the invariants in
`tests/rig/histories/invariants.py` hold them.
"""
