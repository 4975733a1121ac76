"""
The worker process: REST, the herder's loop, and Kafka's log; it starts the driver and never imports a plugin.

`main.py` puts the parts together and takes them apart, `loop.py` is the one doorway to the herder, `world.py` does what the
herder wants done, `writing.py` writes in the herder's order, `rest.py` makes the listeners, `topic_watch.py` looks after the
internal topics. Everybody else submits events
and waits for replies: a thread that touched the herder directly would break its order.
"""
