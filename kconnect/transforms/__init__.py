"""
Single message transforms, one a module, as Connect has them; and Expression, Python and Filter.

Each has `apply` for a record, and some have `apply_batch` for a batch of alike records, which must give the same
(tests/transforms/test_columns.py). `common.py` is what they share. They are plugins like any other. Golden cases of the Java
classes hold results and error texts.
"""
