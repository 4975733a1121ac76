"""
The Common Expression Language, with limits on text, depth, work and memory, so that anybody may submit an expression.

    program = compile("value.price * value.count > 100", {"value": read_value})
    program(record)                                        # CelError if it can't be evaluated

It reads Connect's values in place: a struct's field is looked up when an expression asks for it, and nothing else of the record
is copied or converted. `syntax.py` makes the tree, and `compiler.py` compiles it to functions. These call `operators.py` and
`functions.py`, which work on the types of `values.py`; `times.py` is for times. `types.py` says which Connect schema a result
has. `records.py` gives an expression the parts of a record. This package imports only `kconnect.api` and libraries. The
transform and the predicate `Expression` call it.

Why not a library: for an expression over a struct of 20 fields, this package takes 3.6 µs. common-expression-language 0.10
(Rust, Python 3.11 and later) takes 36 µs, because it copies the record, and cel-python 0.5 takes 240 µs. Neither limits the
work: six nested macros over ten numbers run for 8 s in the first, and are refused here after 0.1 s.

Parts of CEL that are missing: protocol messages, optional values, and nanoseconds, because Python's times have microseconds.
"""

from __future__ import annotations

from kconnect.cel.compiler import Program, compile
from kconnect.cel.syntax import CelError

__all__ = ["CelError", "Program", "compile"]
