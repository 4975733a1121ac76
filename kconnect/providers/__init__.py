"""
Config providers: where `${file:…}`, `${dir:…}` and `${env:…}` come from (KIP-297, KIP-421, KIP-993).

One a module, made of the public API only. `common.py` keeps a provider from reading files that the worker file does not allow.
What they give is secret: it is never logged, and never written to a topic.
"""
