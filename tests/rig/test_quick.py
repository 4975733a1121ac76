"""Which tests `scripts/test --quick` takes, and in which order."""

from __future__ import annotations

import grimp

from tests.rig import quick


def graph(**imports: str) -> grimp.ImportGraph:
    """Make one of modules, each with those that it imports; two underscores stand for a dot."""
    made = grimp.ImportGraph()
    for name, others in imports.items():
        made.add_module(name.replace("__", "."))
        for other in others.split():
            made.add_module(other)
            made.add_import(importer=name.replace("__", "."), imported=other)
    return made


def test_the_nearest_tests_go_first() -> None:
    made = graph(
        tests__test_far="kconnect.user",
        tests__test_near="kconnect.changed kconnect.other",
        tests__test_about="kconnect.changed",
        tests__helper="kconnect.changed",
        tests__test_by_helper="tests.helper",
        tests__test_other="kconnect.other",
        kconnect__user="kconnect.changed",
    )
    assert list(quick.nearest(made, ["kconnect.changed", "kconnect.is_new"])) == [
        "tests.test_about",
        "tests.test_near",
        "tests.test_by_helper",
        "tests.test_far",
    ]
    assert list(quick.nearest(made, ["tests.test_far"])) == ["tests.test_far"]


def test_a_file_is_a_module() -> None:
    assert quick.module(quick.ROOT / "kconnect" / "core" / "__init__.py") == "kconnect.core"
    assert quick.module(quick.ROOT / "tests" / "rig" / "quick.py") == "tests.rig.quick"
