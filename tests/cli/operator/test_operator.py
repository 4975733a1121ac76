"""The command itself: what it prints, and what it says where something is missing. `test_api_server.py` runs it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from kconnect.cli.operator import crd
from tests.cli.calls import call


def test_it_prints_the_definition_without_anything_else() -> None:
    called = call("operator", "--crd", env={"KUBECONFIG": "/nonexistent"})
    assert called.status == 0 and yaml.safe_load(called.out) == crd.definition()


def test_without_kopf_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kopf", None)
    called = call("operator")
    assert called.status == 1 and "kopf is missing: pip install 'kconnect[kubernetes]'" in called.err


@pytest.mark.parametrize("text", ["garbage: [", "a: 1", "- 1", "current-context: x"])
def test_a_kubeconfig_that_is_none(tmp_path: Path, text: str) -> None:
    pytest.importorskip("kopf")
    path = tmp_path / "kubeconfig"
    path.write_text(text, "utf-8")
    called = call("operator", env={"KUBECONFIG": str(path)})
    assert called.status == 3 and "kubeconfig can't be used" in called.err and called.err.count("\n") == 1


def test_no_kubeconfig(tmp_path: Path) -> None:
    pytest.importorskip("kopf")
    called = call("operator", env={"KUBECONFIG": str(tmp_path / "missing")})
    assert called.status == 3 and "missing can't be read" in called.err
    called = call("operator", env={"KUBECONFIG": "", "HOME": str(tmp_path)})
    assert called.status == 3 and "No Kubernetes cluster was found" in called.err
