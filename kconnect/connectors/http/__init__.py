"""
HTTP: a sink that sends records to a service, and a source that asks one, on httpx, which kconnect has anyway.

`settings.py` has what a config may say, `templates.py` the texts with `${…}` in them. `requests.py` makes the requests of
records, `service.py` sends one and says what became of it, `sink.py` has the connector and its task, which decide what follows.
For the source, `source_settings.py`, `pages.py` and `source.py` do the same; `pip install 'kconnect[http]'` has its paths.
"""
