"""
What is counted, under which names, and how it is written for Prometheus.

`table.py` lists every metric with Connect's name for it, `families.py` makes Prometheus families of them, `report.py` is the
form on the metrics topic. Dashboards rely on names: docs/metrics.md lists them and a test compares.
"""
