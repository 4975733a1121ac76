"""
Who may talk to the JVM of a Spark driver by Py4J: processes of this user alone.

Py4J has a thread for each connection, and reads lines of any length, before it asks for its token: another user of the machine
could take all threads that the service may have, or the JVM's heap. A listener of Py4J's in the JVM ends what others connect.
It is compiled there by the Janino that Spark brings, and then kept beside Spark's class archive. Called once the JVM is up, by
`spark/session.py` and by `connectors/spark/session/main.py`, which runs in another Python. Read before: `peers.py`.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from kconnect import peers

log = logging.getLogger(__name__)

_CLASS = "KconnectDoorman"
_DIGEST = hashlib.sha256().digest_size
_SOURCE = """
public class KconnectDoorman extends py4j.DefaultGatewayServerListener {
    private static final String[] TABLES = {"/proc/self/net/tcp", "/proc/self/net/tcp6"};
    private final String user;

    public KconnectDoorman(String user) {
        this.user = user;
    }

    public void connectionStarted(py4j.Py4JServerConnection connection) {
        boolean isOurs = false;
        try {
            isOurs = isOurs(connection.getSocket());
        } catch (Exception error) {
            System.err.println("A connection can't be told from a stranger's: " + error);
        }
        if (!isOurs) {
            connection.shutdown();
        }
    }

    private boolean isOurs(java.net.Socket socket) throws java.io.IOException {
        String there = written(socket.getInetAddress(), socket.getPort());
        String here = written(socket.getLocalAddress(), socket.getLocalPort());
        for (int table = 0; table < TABLES.length; table++) {
            java.io.File file = new java.io.File(TABLES[table]);
            if (!file.exists()) {
                continue;
            }
            java.io.BufferedReader lines = new java.io.BufferedReader(new java.io.FileReader(file));
            try {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    String[] parts = line.trim().split(" +");
                    if (parts.length > 7 && parts[1].endsWith(there) && parts[2].endsWith(here)) {
                        return parts[3].equals("01") && parts[7].equals(user);
                    }
                }
            } finally {
                lines.close();
            }
        }
        return false;
    }

    private static String written(java.net.InetAddress address, int port) {
        byte[] packed = address.getAddress();
        boolean swapped = java.nio.ByteOrder.nativeOrder() == java.nio.ByteOrder.LITTLE_ENDIAN;
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < packed.length; at++) {
            int digits = packed[swapped ? at / 4 * 4 + 3 - at % 4 : at] & 255;
            text.append(digits < 16 ? "0" : "").append(Integer.toHexString(digits));
        }
        String low = Integer.toHexString(port);
        return text.append(":").append("0000".substring(low.length())).append(low).toString().toUpperCase();
    }
}
"""


def post(gateway: Any) -> None:
    """Have the JVM at the other end of Py4J's gateway talk to this user alone. Without it, it works all the same."""
    from py4j.java_gateway import JavaObject
    from py4j.protocol import Py4JError

    if not peers.is_known():
        return
    try:
        server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
        java = gateway.jvm.java
        arguments = gateway.new_array(java.lang.Object, 1)
        arguments[0] = str(os.getuid())
        [maker] = _loaded(gateway, server.getClass().getClassLoader()).getDeclaredConstructors()
        server.addListener(maker.newInstance(arguments))
    except (Py4JError, TypeError, ValueError) as error:
        log.warning("Other users of this machine may take threads and memory of Spark's JVM, by Py4J's port: %s", error)


def _loaded(gateway: Any, parent: Any) -> Any:
    """Return the class, which the JVM has loaded. To compile it takes half a second of a processor, so that is done once."""
    from py4j.protocol import Py4JError

    kept = file()
    with suppress(OSError, Py4JError):
        content = kept.read_bytes()
        # One that was cut off by a machine's end is made anew.
        if len(content) > _DIGEST and hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST]:
            classes = gateway.jvm.java.util.HashMap()
            classes.put(_CLASS, content[_DIGEST:])
            return gateway.jvm.org.codehaus.commons.compiler.util.reflect.ByteArrayClassLoader(classes, parent).loadClass(
                _CLASS
            )
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(_SOURCE)
    bytecode = bytes(compiler.getBytecodes()[_CLASS])
    aside = kept.with_suffix(f".{os.getpid()}")
    # A Python whose folder can't be written has it compiled each time.
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(hashlib.sha256(bytecode).digest() + bytecode)
        aside.rename(kept)
    return compiler.getClassLoader().loadClass(_CLASS)


def file() -> Path:
    """Return where the compiled class is kept, after its digest: whoever may write there may change all that Python loads."""
    version = hashlib.sha256(_SOURCE.encode()).hexdigest()[:12]
    return Path(sys.prefix) / "var" / "cache" / "kconnect" / f"doorman-{version}.class"
