"""
The internal topics, looked at from outside: for `kconnect topics`, and for `GET /kconnect/topics`.

`contents.py` says what they hold, `reading.py` reads them, `meaning.py` and `view.py` say what it means. `checking.py`, with
`settings.py`, `placing.py`, `connectors.py` and `remains.py`, finds what is wrong, as `findings.py`. `child.py` checks them for
a worker, in a process of its own.
"""
