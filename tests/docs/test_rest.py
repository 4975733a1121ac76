"""
The table of operations in docs/rest.md is what REST serves.

`.venv/bin/python -m tests.docs.test_rest` writes it anew.
"""

from __future__ import annotations

from kconnect.rest import app, loggers
from kconnect.rest.operation import Operation, Role
from tests.docs.pages import DOCS

PAGE = DOCS / "rest.md"
BEGIN, END = "test_rest`: begin -->\n", "<!-- end -->"


def table() -> str:
    head = "| operation | what it does | role |\n| --- | --- | --- |\n"
    return head + "".join(f"{_row(each)}\n" for each in (*app.OPERATIONS, *loggers.OPERATIONS))


def _row(operation: Operation) -> str:
    role = "workers" if operation.signed else "anybody" if operation.role is Role.ANYONE else f"`{operation.role.name.lower()}`"
    return f"| `{operation.method} {operation.path}` | {operation.summary} | {role} |"


def test_the_table_is_what_is_served() -> None:
    shown = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    assert shown == table(), "docs/rest.md is stale: .venv/bin/python -m tests.docs.test_rest"


if __name__ == "__main__":
    before, begin, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + begin + table() + END + rest.partition(END)[2], "utf-8")
