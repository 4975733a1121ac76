"""
Java's habits that configs and data rely on: calendars and dates, regular expressions, charsets, .properties files, Maven's
versions.

The ground floor: it imports `kconnect.errors` and libraries only, and each module stands by itself. `data`, the cores and
built-in plugins call it.

Every rule here is one that a Java class has, oddities included, and golden cases of those classes hold it: a change begins with
a case that shows what Java does.
"""
