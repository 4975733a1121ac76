"""
Java's behaviour that configs and data rely on: calendars and dates, regular expressions, charsets, .properties files, Maven's
versions.

This is the lowest layer: it imports only `kconnect.errors` and libraries. `data`, the cores and built-in plugins call it.

Every rule here is a rule of a Java class, including its oddities, and golden cases of these classes check it. A change begins
with a case that shows what Java does.
"""
