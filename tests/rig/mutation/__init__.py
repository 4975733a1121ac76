"""
Small faults in the product, one at a time, and whether the tests notice: `scripts/mutate`. Read next: `__main__.py`, then
`faults.py`.

Of the libraries for this, mutmut and Cosmic Ray, neither leaves calls, returns or raises out or swaps arguments, which is what
stays unnoticed most; and both take what a file has from its first line on, not so many places of all at random.
"""
