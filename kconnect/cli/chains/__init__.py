"""
`kconnect preview` and `kconnect test`: a connector's chain tried on records before it runs.

The commands and their words are here, the engine is `kconnect/preview`, which runs the steps that tasks run. No chain is made
here: a preview that differed from the task would be worse than none.
"""
