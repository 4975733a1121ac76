"""
A Kafka broker on this machine, for the demo, the tests and whoever wants to try something.

`broker.py` starts and stops one broker in KRaft mode, from jars that `kconnect/jvm` fetches. `guard.py` ends it when its owner
dies. It is for trials: nothing that production needs may depend on it.
"""
