"""
The HTTP shell: Kafka Connect's REST API over the herder, its server, and a client for it.

`app.build` makes the ASGI application, `server.Server` serves it, `client.ConnectClient` calls it. Read next: `app.py`, then
`resource.py` for what all resources share; one resource a module.

What may I touch? What is under `/kconnect`, which is ours. Everything else is Kafka Connect's: `tests/rig/parity` sends the
same requests to both and compares each answer, and Connect's own entity classes read ours strictly. What breaks? A handler that
decides something: it turns a request into one of the herder's, and a reply into an answer.
"""
