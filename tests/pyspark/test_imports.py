"""What importing `kconnect.pyspark` imports: Spark gives the process of a stream's source ten seconds to connect."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

_HEAVY = (
    *("confluent_kafka", "fastavro", "httpx", "starlette", "uvicorn", "click", "jpype", "pandas", "yaml", "orjson"),
    *("kconnect.core", "kconnect.kafka", "kconnect.rest", "kconnect.converters", "kconnect.connectors", "kconnect.plugins"),
)
_CODE = """
import sys
import pyspark.sql.datasource, pyspark.sql.types
before = set(sys.modules)
import kconnect.pyspark
print(len(set(sys.modules) - before), *sorted(name for name in %r if name in sys.modules))
"""


def test_it_imports_pyspark_and_little_else() -> None:
    done = subprocess.run([sys.executable, "-c", _CODE % (_HEAVY,)], capture_output=True, text=True, check=True)
    count, *heavy = done.stdout.split()
    assert heavy == []
    assert int(count) < 20, "modules beside PySpark's"
