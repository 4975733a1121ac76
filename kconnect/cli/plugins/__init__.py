"""
`kconnect plugin …` and `kconnect get plugins`: the packages of plugin.path.

The words are here; what installs, lists and examines plugins is `kconnect/plugins`. These commands work without a worker.
Templates of `plugin new` are in `cli/templates`; the tests build and run each of them.
"""
