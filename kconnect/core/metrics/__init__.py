"""
Metrics: what kconnect counts, under which names, and in which form.

`table.py` lists every metric with Connect's name for it. `families.py` makes Prometheus' families of them. `report.py` has the
form on the metrics topic. Dashboards rely on the names: docs/metrics.md lists them, and a test compares.
"""
