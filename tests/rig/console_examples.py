"""
The configs that new connectors in the console can begin with: those of the connectors' pages.

`.venv/bin/python -m tests.rig.console_examples` writes them anew; `tests/rest/test_console.py` sees when they are old.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import kconnect.console

FILE = Path(kconnect.console.__file__).parent / "examples.js"
PAGES = Path(__file__).parents[2] / "docs" / "connectors"
_HEAD = """/**
 * Configs to begin with: those of the connectors' pages in the documentation, of which this is made.
 *
 * Used by `create.js`.
 */

/** @type {{title: string, what: string, config: Record<string, string>}[]} */
export const EXAMPLES = """
_FILES = [
    {
        "title": "Files: lines as records",
        "what": "Lines of a file, and what is appended to it:",
        "config": {"name": "lines", "connector.class": "FileStreamSource", "file": "/var/log/lines.txt", "topic": "lines"},
    },
    {
        "title": "Files: records as lines",
        "what": "Records as lines at the end of a file:",
        "config": {"name": "lines-to-file", "connector.class": "FileStreamSink", "topics": "lines", "file": "/tmp/lines.txt"},
    },
]


def text() -> str:
    found: list[dict[str, Any]] = [*_FILES]
    for page in sorted(PAGES.glob("*.md")):
        content = page.read_text()
        title = content.partition("\n")[0].removeprefix("# ")
        for what, body in re.findall(r"\n\n([^\n`]+(?:\n[^\n`]+)*:)\n\n```json\n(.*?)```", content, re.DOTALL):
            given = json.loads(body)
            if "config" in given:
                config = {"name": given["name"], **given["config"]}
                found.append({"title": title, "what": " ".join(what.split()), "config": config})
    return f"{_HEAD}{json.dumps(found, indent=2, ensure_ascii=False)};\n"


if __name__ == "__main__":
    FILE.write_text(text())
