"""
The first cause of a trace, in one line: what an operator looks for in the fifty lines of a FAILED task.

Called by `cli/describe/`, and for dead letters by `dlq/letters.py`. A Java trace ends with its first cause (the last "Caused
by:"), a Python trace of several exceptions begins with it. Both kinds may be in one status topic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LONGEST = 400

_PYTHON = "Traceback (most recent call last):"
_GROUP = "Exception Group Traceback (most recent call last):"
_BAR = re.compile(r"^ *[|+] ?")
_RULE = re.compile(r"^[-+]+( \d+ -+)?$")
_CHAINED = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_CAUSED_BY = "Caused by: "
_JAVA_FRAME = re.compile(r"\s+(at [\w.$<>/@]+\(?|\.\.\. \d+ (more|common frames omitted)|Suppressed: |\[CIRCULAR REFERENCE)")
_PLACE = re.compile(r" \([^()]+\.py:\d+\)$")
"""What kconnect's first line ends with: file and line of the plugin."""
_CLASS = re.compile(r"^(?:[\w$]+[./])+(?=[A-Z_$][\w$]*(?::|$))")


@dataclass(frozen=True)
class Cause:
    """`first` began it; `reported` is what it ended as, None if nothing was wrapped around the first."""

    first: str
    reported: str | None = None


def of(trace: str | None) -> Cause | None:
    """
    Return the cause that a trace tells, without packages of classes and in lines of at most 400 characters; None if there is
    none.
    """
    if trace is None or not trace.strip():
        return None
    lines = trace.strip().splitlines()
    if any(_PYTHON in line for line in lines):
        chain = _python(lines)
    elif any(_JAVA_FRAME.match(line) or line.startswith(_CAUSED_BY) for line in lines):
        chain = _java(lines)
    else:
        # As the words of kconnect about a process that has crashed, before the stack.
        chain = [lines[0]]
    first, reported = _short(chain[0]), _short(chain[-1])
    place = _PLACE.search(lines[0])
    shown = first if place is None or chain[0] == lines[0] else f"{first}{place[0]}"
    return Cause(shown, None if first == reported else reported)


def _java(lines: list[str]) -> list[str]:
    """The first cause first. A message may have lines of its own: they end where the frames begin."""
    texts: list[list[str]] = [[]]
    reading = True
    for line in lines:
        if line.startswith(_CAUSED_BY):
            texts.append([line.removeprefix(_CAUSED_BY)])
            reading = True
        elif _JAVA_FRAME.match(line):
            reading = False
        elif reading:
            texts[-1].append(line)
    return [" ".join(text) for text in reversed(texts)]


def _python(lines: list[str]) -> list[str]:
    texts: list[list[str]] = []
    reading = False
    for line in lines:
        # What a group of exceptions holds stands behind bars.
        bare = _BAR.sub("", line)
        if _PYTHON in bare or _RULE.match(bare):
            texts.append([])
            reading = False
        elif bare in _CHAINED:
            reading = False
        elif texts and bare and not bare.startswith(" "):
            reading = True
            texts[-1].append(bare)
        elif reading:
            texts[-1].append(bare)
    chain = [" ".join(text) for text in texts if text]
    if any(_GROUP in line for line in lines) and len(chain) > 1:
        # The group comes first, then what it holds: the first of that stands for all.
        return [chain[1], chain[0]]
    return chain or [lines[-1]]


def _short(text: str) -> str:
    text = _CLASS.sub("", " ".join(text.split()))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
