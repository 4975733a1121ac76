"""
Connect's own workers of several versions and kconnect take turns on one group and one set of topics.

`scripts/compat` and `tests/kip/test_compat.py` run it; docs/compatibility.md has the outcome. Start reading at `run.py`;
what is tried is in `rows/`, written with the words of `row.py`.
"""
