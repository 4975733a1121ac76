"""
The HTTP shell: Kafka Connect's REST API over the herder, its server, and a client for it.

`app.build` makes the ASGI application, `server.Server` serves it, `client.ConnectClient` calls it.
Read next: `app.py`, then `resource.py` for what all resources share.
"""
