"""
Java's habits that configurations rely on: regular expressions, date patterns, .properties files,
Maven's versions.

A leaf: imports `kconnect.api` and libraries only. Built-in plugins and the cores call it; each module stands by itself.
"""
