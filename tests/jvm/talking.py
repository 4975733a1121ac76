"""A class of a plugin that logs, and what processes with a JVM do with it. For `test_logs.py`."""

from __future__ import annotations

TALKER = """
package org.example;

import java.util.logging.Level;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

public class Talker {
    static final Logger LOG = LoggerFactory.getLogger(Talker.class);
    static final java.util.logging.Logger JUL = java.util.logging.Logger.getLogger("org.example.jul.Talker");

    public static void talk() {
        LOG.trace("a trace");
        LOG.debug("a detail");
        LOG.info("as {} as {}", "much", "this");
        LOG.warn("a warning", "not for the text");
        LOG.error("an error");
    }

    public static void jul() {
        JUL.finer("finer");
        JUL.fine("fine");
        JUL.config("config");
        JUL.log(Level.INFO, "of {0}", "Java");
        JUL.log(Level.WARNING, "thrown", new IllegalStateException("by jul"));
        JUL.severe("severe");
    }

    public static void fail(String text) {
        Throwable cause = new java.io.IOException("inner " + text);
        LOG.error("It broke at {}", "noon", new IllegalStateException("outer", cause));
    }

    /** From a thread that is started by a thread that the caller starts. */
    public static void fromAfar(final String text) throws InterruptedException {
        finish(new Thread() {
            public void run() {
                finish(new Thread() {
                    public void run() {
                        LOG.info(text);
                    }
                });
            }
        });
    }

    public static Thread flood(final String name, final int lines) {
        Thread thread = new Thread() {
            public void run() {
                for (int at = 0; at < lines; at++) {
                    locked(name + " " + at);
                }
            }
        };
        thread.start();
        return thread;
    }

    /** A lock that is held while a line is logged, and waited for by who comes from Python. */
    public static synchronized void locked(String text) {
        LOG.info(text);
        said++;
    }

    public static volatile int said;

    /** How often the text of a line was asked for that nobody wants. */
    public static int unwanted(int lines) {
        final int[] asked = new int[1];
        Object part = new Object() {
            public String toString() {
                asked[0]++;
                return "part";
            }
        };
        for (int at = 0; at < lines; at++) {
            LOG.debug("line {}", part);
        }
        LOG.warn("and {}", part);
        return asked[0];
    }

    static void finish(Thread thread) {
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException error) {
            throw new RuntimeException(error);
        }
    }
}
"""

SCRIPT = """
import logging, os, sys, threading, time
from kconnect.core.state.records import LoggerLevel
from kconnect.jvm import logs as java
from kconnect.jvm import machine
from kconnect.processes import levels, logs

logs.configure("json")
loggers = levels.PythonLoggers()
# Before there is a JVM.
logs.set_level(loggers, LoggerLevel("org.example.early", "DEBUG"))
loader = machine.source(sys.argv[1]).loader()

import jpype

talker = jpype.JClass(jpype.JClass("java.lang.Class").forName("org.example.Talker", True, loader))
logger = jpype.JClass("org.slf4j.LoggerFactory").getLogger

def part(name):
    java.flush(60)
    logging.getLogger("part").warning(name)

def unit(connector, task, work):
    def run():
        logs.bind(connector, task)
        with machine.loader_of(loader):
            pass
        work()
    thread = threading.Thread(target=run)
    thread.start()
    return thread

def dump():
    config = jpype.JClass("java.util.HashMap")()
    config.put("converter.type", "value")
    jpype.JClass("org.apache.kafka.connect.json.JsonConverter")().configure(config)

part("talk")
talker.talk()
part("fail")
talker.fail("cause")
part("jul")
talker.jul()
part("quiet")
dump()
part("early")
logger("org.example.early.Bird").debug("caught")
logger("org.example.Worm").debug("not caught")

part("units")
unit("src", 0, lambda: talker.fromAfar("of the task")).join()
unit("snk", None, lambda: talker.fromAfar("of the connector")).join()
talker.fromAfar("of nobody")
# The thread that asks for what is left is a unit's: that is nothing to the lines.
talker.fromAfar("still of nobody")
unit("src", 1, lambda: java.flush(60)).join()

part("secrets")
logs.cover({"s3cret-9": "${file:/f:k}"})
talker.fail("with s3cret-9")

part("levels")
def change(name, level):
    logs.set_level(loggers, LoggerLevel(name, level))
    talker.talk()
    talker.jul()
    java.flush(60)
    logging.getLogger("changed").warning(name + " " + level)
change("org.example", "TRACE")
change("org.example.Talker", "ERROR")
change("org", "WARN")
change("root", "OFF")
change("root", "INFO")

part("kafka")
def of_kafka(name, level):
    logs.set_level(loggers, LoggerLevel(name, level))
    enabled = {each: bool(logger("org.apache.kafka." + each).isDebugEnabled()) for each in
        ("connect.file.FileStreamSourceTask", "connect.json.X", "connect.mirror.M", "connect.runtime.isolation.Y", "common.Z")}
    logging.getLogger("of_kafka").warning(" ".join(each for each, on in enabled.items() if on))
of_kafka("org.apache.kafka.connect.mirror", "DEBUG")
of_kafka("org.apache.kafka.connect.mirror", "INFO")
of_kafka("org.apache.kafka.connect.file", "DEBUG")
of_kafka("org.apache.kafka.connect.json", "DEBUG")
of_kafka("org.apache.kafka.connect", "DEBUG")
of_kafka("org.apache.kafka.connect.file", "INFO")
of_kafka("org.apache.kafka", "INFO")
dump()
java.flush(60)
logging.getLogger("listed").warning(" ".join(name for name in loggers.levels() if "apache" in name))

part("flood")
def wait(name, lines):
    talker.flood(name, lines).join()
before = talker.said
loud = [unit("loud", 0, lambda name=name: wait(name, 100_000)) for name in ("one", "two")]
while talker.said < before + 100:
    time.sleep(0.001)
def say():
    for at in range(200):
        talker.locked(f"calm {at}")
unit("calm", 0, say).join()
for each in loud:
    each.join()
talker.locked("behind")

part("unwanted")
logging.getLogger("asked").warning(str(talker.unwanted(100_000)))
part("long")
talker.locked("words " * 20_000)
talker.locked("\\U0001f600 \\0")
java.flush(60)
part("end")
# As hosts and scans end: threads of Java's may be within the interpreter.
os._exit(0)
"""

PLAIN = """
import os, sys, threading
from kconnect.jvm import logs as java
from kconnect.jvm import machine

class Told:
    def __init__(self):
        self.all = threading.Event()
    def write(self, text):
        sys.__stderr__.write(text)
        if "Caused by" in text:
            self.all.set()
    def flush(self):
        sys.__stderr__.flush()

sys.stderr = told = Told()
loader = machine.source(sys.argv[1]).loader()
import jpype

talker = jpype.JClass(jpype.JClass("java.lang.Class").forName("org.example.Talker", True, loader))
talker.talk()
talker.fail("cause")
told.all.wait(60)
java.flush(60)
print(*(each.name for each in threading.enumerate()), flush=True)
os._exit(0)
"""
