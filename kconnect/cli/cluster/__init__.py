"""
Commands about workers: `cluster`, `get workers`, `get loggers`, `set logger`, `user`.

They read `/cluster`, `/kconnect` and `/admin/loggers`; only `set logger` changes anything, and `user` writes a line for a file
to standard output. On Apache Kafka Connect, which has no `/cluster`, they say so.
"""
