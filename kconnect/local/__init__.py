"""
A Kafka broker on this machine, for the demo, the tests and whoever wants to try something.

`jars.py` finds Kafka's jars by way of PySpark's Ivy, `broker.py` starts and stops one broker in KRaft mode, `guard.py` ends it
when its owner dies. It is for trials: nothing that production needs may depend on it.
"""
