"""
Runs calls of `kafka-acls.sh` in one JVM: the class behind the script, once for each list of arguments in a file of JSON.

Run by `rights.py` on a machine of the rig: `python -m tests.rig.machines.acl_commands JARS FILE`. The class ends the process
with status 1 if the brokers refuse a call.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jpype

from kconnect.jvm import java


def main(directory: str, file: str) -> None:
    library = Path(java.checked()).resolve().parent.parent / "lib" / "server" / "libjvm.so"
    jars = [str(jar) for jar in sorted(Path(directory).glob("*.jar"))]
    jpype.startJVM(str(library), "-XX:TieredStopAtLevel=1", classpath=jars)
    command = jpype.JClass("org.apache.kafka.tools.AclCommand")
    for words in json.loads(Path(file).read_text("utf-8")):
        command.main(jpype.JArray(jpype.JString)(words))


if __name__ == "__main__":
    main(*sys.argv[1:])
