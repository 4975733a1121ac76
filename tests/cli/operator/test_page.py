"""docs/kubernetes.md has every field and annotation, and its example is one that is read."""

from __future__ import annotations

import re

import yaml

from kconnect.cli.operator import crd
from kconnect.cli.operator import resource as resources
from tests.docs.pages import DOCS

PAGE = (DOCS / "kubernetes.md").read_text("utf-8")


def test_every_field_is_on_the_page() -> None:
    (version,) = crd.definition()["spec"]["versions"]
    fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert [name for name in fields if f"`{name}`" not in PAGE] == []


def test_its_annotations_are_read() -> None:
    named = set(re.findall(r"`(kconnect\.dev/[a-z-]+)(?:=true|: [^`]*)?`", PAGE))
    known = {"restart", "restart-task", "adopt", "pause-reconciliation", "owner", "deletion-policy", "deletion-protection"}
    assert named == {f"kconnect.dev/{name}" for name in (*known, "cluster", "connector")}


def test_the_example_is_read() -> None:
    examples = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "kind: Connector" in text]
    (manifest,) = [yaml.safe_load(text) for text in examples]
    assert manifest["apiVersion"] == f"{resources.GROUP}/{resources.VERSION}"
    body = {**manifest, "metadata": {**manifest["metadata"], "uid": "u", "generation": 1}}
    read = resources.read(body)
    assert read.problems == () and read.manifest.config["connector.class"] == "SqlSource" and read.restarts
