"""Texts with very many marks above and below one letter, which Python takes hours to put in order."""

from __future__ import annotations

import ast
import os
import unicodedata
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from kconnect import normal_forms

ROOT = Path(__file__).parent.parent / "kconnect"
TRUSTED = ("cli", "rest", "worker", "jvm", "local", "pyspark", "core/settings/worker.py", "core/settings/opentelemetry.py")
"""Whose addresses are those of their own settings, or of headers, which have bytes of Latin-1 and no marks."""
MARKS = "\u0345\u0316\u0301"
ODD = ("\u0344", "\u0f73", "\u0f75", "\u0f81")
"""Made of marks, though Unicode says of most that they are none."""


@pytest.mark.parametrize("text", ["", "plain", "café", "cafe\u0301", "ﬁ１．２", "a" + MARKS * 10, "\ufdfa", "\ud800", *ODD])
@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_a_text_has_the_form_that_python_gives_it(text: str, form: normal_forms.Form) -> None:
    assert normal_forms.normalized(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("marks", [MARKS, *ODD, "\u0301a\u0f73\u0301"[2:]])
def test_a_letter_with_very_many_marks_is_refused_at_once(marks: str) -> None:
    text = "a" + marks * 30_000
    with pytest.raises(ValueError, match="more than 30 marks"):
        normal_forms.normalized("NFC", text)
    for url in (f"http://{text}/x", f"http:/\t/{text}", f"s3://{text}@host", f"//{text}?x"):
        with pytest.raises(ValueError, match="more than 30 marks"):
            normal_forms.split(url)
        with pytest.raises(ValueError, match="more than 30 marks"):
            normal_forms.joined("http://host/", url)


def test_by_letter_takes_any_text() -> None:
    assert normal_forms.by_letter("NFKC", "１６９。２５４ａ" + MARKS * 30_000).startswith("169。254a")


@pytest.mark.parametrize(
    "url", ["http://höst:80/x?y#z", "file:///a/" + "a" + MARKS * 100, "http://[::1]/", "x", "", "s3://b/é"]
)
def test_addresses_have_the_parts_that_python_gives_them(url: str) -> None:
    assert normal_forms.split(url) == urlsplit(url)
    assert normal_forms.joined("http://host/a/b", url) == urljoin("http://host/a/b", url)


def test_nobody_else_has_python_do_it() -> None:
    """A module that reads what others write calls `kconnect/normal_forms.py`."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        name = os.fspath(path.relative_to(ROOT))
        calls = {"normalize"} if name.startswith(TRUSTED) else {"normalize", "urlsplit", "urlparse", "urljoin"}
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or name == "normal_forms.py":
                continue
            called = ast.unparse(node.func)
            whose, _, what = called.rpartition(".")
            if what in calls and whose in ("", "unicodedata", "urllib.parse", "parse"):
                found.append(f"{name}:{node.lineno} {called}")
    assert found == []
