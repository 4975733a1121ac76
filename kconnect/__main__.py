"""`python -m kconnect` is the same as the command `kconnect`; see `cli/main.py`."""

from __future__ import annotations

from kconnect.cli.main import main

if __name__ == "__main__":
    main()
