"""
How a JVM takes its class archive: where that was made to lie, so that most of it stays a clean page of the file.

Otherwise Java moves it to another address at each start, which makes a copy of nearly all of it: 36 MB of Spark's 52. That is
to keep from attackers where classes lie; there is no code among them, and older Javas did not move it either. Used by
`spark/class_archive.py`, `jvm/archive.py` and `local/broker.py`. A Java that has no such option makes no archive with it
(`spark/archive.py`, `jvm/archive_maker.py`).
"""

from __future__ import annotations

IN_PLACE = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
