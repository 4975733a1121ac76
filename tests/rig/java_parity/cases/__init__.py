"""
The cases, in the order in which they run: each is a function over a `Side`, with the plugins that it needs.

Called by `../run.py`'s callers, who choose among them. Read next: `debezium.py`.
"""

from __future__ import annotations

from tests.rig.java_parity.cases.camel import CAMEL, CAMEL_DELETES
from tests.rig.java_parity.cases.debezium import DEBEZIUM
from tests.rig.java_parity.cases.jdbc import JDBC_SINK
from tests.rig.java_parity.cases.kafka import KAFKA
from tests.rig.java_parity.cases.life import LIFE
from tests.rig.java_parity.cases.mariadb import MARIADB_SOURCE
from tests.rig.java_parity.cases.meddling import MEDDLING
from tests.rig.java_parity.cases.mirror import MIRRORS
from tests.rig.java_parity.cases.versions import VERSIONS

CASES = (*DEBEZIUM, JDBC_SINK, VERSIONS, MIRRORS, MARIADB_SOURCE, CAMEL, CAMEL_DELETES, *KAFKA, *LIFE, *MEDDLING)
