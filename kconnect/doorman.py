"""
Who may talk to the JVM of a Spark driver by Py4J: processes of this user alone.

Py4J has a thread for each connection, and reads lines of any length, before it asks for its token: another user of the machine
could take all threads that the service may have, or the JVM's heap. A listener of Py4J's in the JVM, compiled there by the
Janino that Spark brings, ends what others connect. Called once the JVM is up, by `spark/session.py` and by
`connectors/spark/session/main.py`, which runs in another Python. Read before: `peers.py`.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from kconnect import peers

log = logging.getLogger(__name__)

_CLASS = "KconnectDoorman"
_SOURCE = """
public class KconnectDoorman extends py4j.DefaultGatewayServerListener {
    private static final String[] TABLES = {"/proc/self/net/tcp", "/proc/self/net/tcp6"};
    private static final String USER = "%d";

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

    private static boolean isOurs(java.net.Socket socket) throws java.io.IOException {
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
                        return parts[3].equals("01") && parts[7].equals(USER);
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
            int digits = packed[swapped ? at / 4 * 4 + 3 - at %% 4 : at] & 255;
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
        compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(server.getClass().getClassLoader())
        compiler.cook(_SOURCE % os.getuid())
        nothing = gateway.new_array(gateway.jvm.java.lang.Object, 0)
        [maker] = compiler.getClassLoader().loadClass(_CLASS).getDeclaredConstructors()
        server.addListener(maker.newInstance(nothing))
    except (Py4JError, TypeError, ValueError) as error:
        log.warning("Other users of this machine may take threads and memory of Spark's JVM, by Py4J's port: %s", error)
