"""
Commands that run something on this machine: `worker`, `broker`, `demo`.

The worker itself is `kconnect/worker`, the broker `kconnect/local`; here is what a terminal sees of them. `demo` is what a
newcomer tries first: `scripts/demo` and the README depend on its words.
"""
