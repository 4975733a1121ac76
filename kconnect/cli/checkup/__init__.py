"""
`kconnect doctor`: what would keep workers from working. Start reading at `run.py`.

`machine.py`, `workers.py`, `brokers.py` and `listening.py` each have the checks of one thing; a check is a function that gives
findings (`cli/findings.py`) and has its own limit of time. A new check is one more function in its file and in `doctor.py`'s
list. A check must change nothing on what it looks at.
"""
