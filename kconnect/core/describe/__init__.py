"""
What a connector's state means, for `kconnect describe` and the REST API: `changes.py` tells what became of it, `advice.py` what
to do. Both are given what was found, and ask nobody.
"""
