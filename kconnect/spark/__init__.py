"""
All that knows PySpark: the session, the job that keeps hosts alive, the daemon they are forked from.

`session.py` says which settings kconnect needs and which a user may choose, `hosts.py` keeps one long-lived Spark task for each
host, `daemon.py` has everything heavy imported before a fork. Called by `host/driver.py` only. Spark starts a host again when
its process dies, and whoever starts one beside it runs units twice: the settings in `session.py` and the life of a job in
`hosts.py` belong together.
"""
