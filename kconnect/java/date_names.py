"""The English names in dates, in their long form; the short form is the first three letters."""

from __future__ import annotations

ERAS = ("BC", "AD")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
HALVES = ("AM", "PM")
SHORT = 3
