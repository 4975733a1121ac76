"""
A Kafka broker and a PostgreSQL on this machine, for the demo, the tests and whoever wants to try something.

`broker.py` starts and stops one broker in KRaft mode, from jars that `kconnect/jvm` fetches; `postgres.py` does so with a
database, whose programs the machine has. `guard.py` ends them when their owner dies. They are for trials: nothing that
production needs may depend on them.
"""
