"""
The plugin system: what is installed, which version a config means, and code that is asked without being let in.

`scan.py` and `registry.py` know plugins by their metadata, `environments.py`, `realms.py` and `arrangement.py` load several
versions beside each other, `sandbox.py` asks plugin code in child processes. `installation.py`, `doctor.py` and
`examination.py` are for `kconnect plugin`.

The worker process never imports a plugin; executors and sandbox children do. Whoever adds a question for plugin code adds it to
the sandbox, with a limit of time.
"""
