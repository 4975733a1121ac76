"""
What Apache Kafka Connect itself did with single records, values, patterns and versions, and whether ours do the same.

A golden file has a case a line: what Connect's own classes were given, and what they returned or threw. `run.py` checks the
files of a directory (`scripts/golden DIR`); `fresh.py` makes cases of its own, has Connect's classes answer them through
`Oracle.java`, and checks those (`scripts/golden --fresh N`). Both end in the same functions, one for each format:

    transforms.py   transforms, chains, predicates          data.py   values, values_convert, projector, validate
    converters.py   converters, sequences, header converters          texts.py  java_regex, simple_date_format, version_ranges

A check returns if the case passes and raises if not. `envelopes.py` knows how data are written, `errors.py` what Java's
exceptions are here. Neither uses the converters that are being checked, so that a mistake in those can't hide itself.
"""
