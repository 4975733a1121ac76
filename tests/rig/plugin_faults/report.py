"""
The fault matrix as Markdown: for each fault a row a place, and what was wrong. Called by `tests/rig/plugin_faults/__main__.py`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

from tests.rig.plugin_faults import judge
from tests.rig.plugin_faults.judge import Seen
from tests.rig.plugin_faults.places import BY_NAME, JAVA_KINDS, JAVA_PLACES, KINDS, PLACES, Place


def keep(file: Path, cell: tuple[Place, str], seen: Seen) -> None:
    """Append a cell to what earlier runs have found."""
    with open(file, "a", encoding="utf-8") as lines:
        lines.write(json.dumps({"place": cell[0].name, "kind": cell[1], "seen": dataclasses.asdict(seen)}) + "\n")


def kept(file: Path) -> dict[tuple[Place, str], Seen]:
    """The newest of each cell."""
    rows = map(json.loads, file.read_text("utf-8").splitlines()) if file.exists() else ()
    return {(BY_NAME[row["place"]], row["kind"]): Seen(**row["seen"]) for row in rows}


def table(found: Mapping[tuple[Place, str], Seen]) -> str:
    """A row a place, a column a fault; below it whatever is not as it should be, and an example of each reason."""
    kinds = [kind for kind in dict.fromkeys(("", *KINDS, *JAVA_KINDS)) if any(each == kind for _, each in found)]
    places = [place for place in dict.fromkeys((*PLACES, *JAVA_PLACES)) if any(each == place for each, _ in found)]
    lines = [
        f"| call | {' | '.join(kind or 'no fault' for kind in kinds)} |",
        f"| --- |{' --- |' * len(kinds)}",
    ]
    for place in places:
        cells = [_cell(found, place, kind) for kind in kinds]
        lines.append(f"| `{place.name}` | {' | '.join(cells)} |")
    wrong = [(cell, judge.complaints(*cell, seen)) for cell, seen in found.items()]
    lines += ["", f"{len(found)} cells, {sum(not complaints for _, complaints in wrong)} as they should be."]
    lines += [f"- `{place.name}`, {kind}: {'; '.join(complaints)}" for (place, kind), complaints in wrong if complaints]
    return "\n".join(lines)


def _cell(found: Mapping[tuple[Place, str], Seen], place: Place, kind: str) -> str:
    seen = found.get((place, kind))
    return "" if seen is None else judge.cell(place, kind, seen)
