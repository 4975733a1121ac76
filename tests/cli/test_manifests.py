"""Connectors in files: every form of them, and what is said of those that can't be used."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kconnect.cli import manifests
from kconnect.cli.manifests import Manifest, Unusable

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "tasks.max": "1"}
OFFSETS = [{"partition": {"filename": "/x"}, "offset": {"position": 100}}]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str, name: str = "a.yaml") -> list[Manifest]:
    Path(name).write_text(text)
    return manifests.read([Path(name)])


def problems(text: str, name: str = "a.yaml") -> list[str]:
    with pytest.raises(Unusable) as refused:
        read(text, name)
    return refused.value.problems


FORMS = [
    "name: a\nconfig:\n  connector.class: FileStreamSource\n  topic: t\n  tasks.max: 1\n",
    "name: a\nconnector.class: FileStreamSource\ntopic: t\ntasks.max: 1\n",
    "connector.class: FileStreamSource\ntopic: t\ntasks.max: 1\nname: a\n",
    "config: {name: a, connector.class: FileStreamSource, topic: t, tasks.max: 1}\n",
    json.dumps({"name": "a", "config": CONFIG}),
    json.dumps({"name": "a", "config": {**CONFIG, "tasks.max": 1}}),
    json.dumps([{"name": "a", "config": CONFIG}]),
    # What REST gives of one, and of all.
    json.dumps({"name": "a", "config": {"name": "a", **CONFIG}, "tasks": [{"task": 0}], "type": "source"}),
    json.dumps({"a": {"info": {"name": "a", "config": CONFIG, "tasks": [], "type": "source"}, "status": {"name": "a"}}}),
]


@pytest.mark.parametrize(
    ("text", "name"),
    [(text, name) for text in FORMS for name in ("a.yaml", "a.json", "-") if name != "a.json" or text.startswith(("{", "["))],
)
def test_the_forms_of_a_connector(text: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    (found,) = manifests.read([Path("-")]) if name == "-" else read(text, name)
    config = {key: value for key, value in found.config.items() if key != "name"}
    assert (found.name, config, found.state, found.offsets) == ("a", CONFIG, None, None)


def test_state_and_offsets_keep_their_numbers_while_settings_are_texts() -> None:
    body = {"name": "a", "state": "Paused", "offsets": OFFSETS, "config": {**CONFIG, "x": 1.50, "y": True, "z": None}}
    expected = Manifest("a", {**CONFIG, "x": "1.5", "y": "true", "z": None}, "PAUSED", OFFSETS, "a.yaml:1")
    assert read(yaml.safe_dump(body, sort_keys=False)) == [expected]
    as_rest = {"name": "a", "initial_state": "PAUSED", "initial_offsets": OFFSETS, "config": body["config"]}
    (found,) = read(json.dumps(as_rest), "a.json")
    assert (found.config, found.state, found.offsets) == (expected.config, "PAUSED", OFFSETS)
    # As `GET /connectors/a/offsets` says them.
    (found,) = read(json.dumps({"name": "a", "offsets": {"offsets": OFFSETS}, "config": CONFIG}), "a.json")
    assert found.offsets == OFFSETS
    assert read("name: a\nconfig: {connector.class: X, n: 1.50, o: 010, p: no}")[0].config == {
        "connector.class": "X",
        "n": "1.50",
        "o": "010",
        "p": "no",
    }


def test_several_documents_and_where_each_is() -> None:
    text = "# first\nname: a\nconfig: {connector.class: X}\n---\n---\n- name: b\n  config: {connector.class: X}\n- name: c\n"
    found = read(text + "  connector.class: X\n")
    assert [(each.name, each.where) for each in found] == [("a", "a.yaml:2"), ("b", "a.yaml:6"), ("c", "a.yaml:8")]


def test_a_properties_file_of_a_standalone_worker() -> None:
    assert read("name=a\nconnector.class=X\n", "a.properties") == [
        Manifest("a", {"name": "a", "connector.class": "X"}, where="a.properties")
    ]


def test_a_directory_and_those_below_it(directory: Path) -> None:
    for path in ("d/b.yaml", "d/a.json", "d/c.yml", "d/.hidden.yaml", "d/worker.properties", "d/notes.txt", "d/below/d.yaml"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        name = Path(path).stem
        Path(path).write_text(json.dumps({"name": name, "config": CONFIG}))
    assert [each.name for each in manifests.read([Path("d")])] == ["a", "b", "c"]
    assert [each.name for each in manifests.read([Path("d")], recursive=True)] == ["a", "b", "d", "c"]
    Path("empty").mkdir()
    with pytest.raises(Unusable) as refused:
        manifests.read([Path("empty"), Path("d"), Path("nowhere.yaml"), Path("https://example.com/a.yaml")])
    assert refused.value.problems == [
        "empty has no file that ends with .yaml, .yml, .json; -R reads the directories below, too",
        "nowhere.yaml: No such file or directory",
        "https:/example.com/a.yaml: files are read, not addresses. Have the command read what `curl -fsS` prints, with -f -",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: a\nsate: paused\nconfig: {connector.class: X}", "a.yaml:2: a connector has no field sate: use name"),
        ("name: a\nconfig:\n  connector.class: X\n  b: [1]", "a.yaml:4: the setting b is a list, but settings are text"),
        ("name: a\nconfig:\n  connector.class: X\n  b: {c: 1}", "a.yaml:4: the setting b is an object, but settings are text"),
        ("name: a\nconfig:\n  topic: x", "a.yaml:2: the config has no connector.class"),
        ("name: a\nconfig:\n  connector.class: X\n  p: 'a [hidden]'", "a.yaml:4: the setting p is [hidden], the placeholder"),
        ("name: a\nconfig: x", "a.yaml:2: no connector's config found"),
        ("name: a", "a.yaml:1: no connector's config found"),
        ("5", "a.yaml:1: no connector's config found"),
        ("", "a.yaml has no connector"),
        ("config: {connector.class: X}", "a.yaml:1: the connector has no name"),
        ("name: [a]\nconfig: {connector.class: X}", "a.yaml:1: the connector has no name, or one that is not text"),
        ("name: a\nconfig: {connector.class: X, name: b}", "a.yaml:1: the connector is named a, but b in its config"),
        ("name: '${env:A}'\nconfig: {connector.class: X}", "a.yaml:1: the name is ${env:A}, but only settings may"),
        ("name: a\nconfig: {connector.class: X}\nstate: ${S}", "a.yaml:3: the state is ${S}, but only settings may"),
        ("name: a\nconfig: {connector.class: X}\nstate: gone", "a.yaml:3: the state is gone; it must be one of running"),
        ("name: a\nconfig: {connector.class: X}\nstate: true", "a.yaml:3: the state is True; it must be one of running"),
        ("name: a\nconfig: {connector.class: X}\noffsets: 5", "a.yaml:3: the offsets must be a list of"),
        ("name: a\nconfig: {connector.class: X}\noffsets: [{partition: {a: b}}]", "a.yaml:3: the offsets must be a list of"),
        ("name: a\nname: b\n", "a.yaml: this is not YAML (the key name is there twice in line 2)"),
        ("name: a\n\tb: c", "a.yaml: this is not YAML ("),
        ("name: a\nconfig:\n  x: !!timestamp foo\n", "a.yaml: this is not YAML (foo is not a valid timestamp in line 3)"),
        ("name: a\n? !!timestamp foo\n: b\n", "a.yaml: this is not YAML (foo is not a valid timestamp in line 2)"),
        ("name: a\noffsets: !!bool maybe\n", "a.yaml: this is not YAML (maybe is not a valid bool in line 2)"),
        ("name: a\noffsets: !!int x\n", "a.yaml: this is not YAML (x is not a valid int in line 2)"),
        ("name: a\nconfig: !!map x\n", "a.yaml: this is not YAML (expected a mapping node, but found scalar in line 2)"),
        ("name: a\nconfig: {connector.class: X, x: !!set {b}}\n", "a.yaml:2: the setting x is a list, but settings are text"),
        ("name: a\nconfig: {connector.class: X, x: !!binary aaaa}\n", "a.yaml:2: the setting x is binary, but settings are"),
    ],
)
def test_what_is_said_of_mistakes(text: str, said: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith(said)


def test_of_json_the_entry_is_named() -> None:
    body = [{"name": "a", "config": CONFIG}, {"name": "b", "config": {**CONFIG, "x": []}}]
    assert problems(json.dumps(body), "a.json")[0].startswith("a.json, entry 2: the setting x is a list")
    assert problems('{"name": "a", "name": "b"}', "a.json")[0].startswith("a.json: this is not JSON (the key name is there")
    assert problems('{"name": "a"', "a.json")[0].startswith("a.json: this is not JSON (Expecting ',' delimiter: line 1")


def test_all_mistakes_of_all_files_are_told_and_a_name_comes_once() -> None:
    Path("a.yaml").write_text("name: a\nconfig: {connector.class: X}\n")
    Path("b.yaml").write_text("name: a\nconfig: {connector.class: X}\n---\nname: c\nstate: x\nconfig: {}\n")
    with pytest.raises(Unusable) as refused:
        manifests.read([Path("a.yaml"), Path("b.yaml")])
    assert [problem.split(";")[0] for problem in refused.value.problems] == [
        "b.yaml:1: the connector a is also in a.yaml:1",
        "b.yaml:6: no connector's config found",
        "b.yaml:5: the state is x",
    ]
    assert str(refused.value) == "3 mistakes in the files: nothing was done"


# PyYAML folds Unicode's own line breaks when it writes.
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029"), max_size=12)
_LETTERS = st.characters(categories=("L", "N"), include_characters=" -_.:#'\"")
_NAMES = st.text(_LETTERS, min_size=1, max_size=12).filter(str.strip)
_NUMBERS = st.integers(-(2**60), 2**60)


def _is_alike_in_both(text: str) -> bool:
    """PyYAML writes 0E0 and 08 without quotes, for they are texts in YAML 1.1; in 1.2, which is read, they are numbers."""
    return not re.fullmatch(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?", text) or not isinstance(yaml.safe_load(text), str)


_ALIKE = _TEXT.filter(_is_alike_in_both)
_OFFSETS = st.lists(
    st.fixed_dictionaries(
        {"partition": st.dictionaries(_ALIKE, _ALIKE, max_size=2), "offset": st.dictionaries(_ALIKE, _NUMBERS)}
    ),
    min_size=1,
    max_size=2,
)


@settings(max_examples=60)
@given(
    name=_NAMES,
    config=st.dictionaries(_TEXT.filter(lambda key: key not in ("name", "connector.class")), st.none() | _TEXT, max_size=4),
    state=st.sampled_from([None, "running", "PAUSED", "Stopped"]),
    offsets=st.none() | _OFFSETS,
)
def test_what_json_and_yaml_writers_write_is_read_again(
    name: str, config: dict[str, str | None], state: str | None, offsets: list[dict[str, Any]] | None
) -> None:
    config = {"connector.class": "X", **config}
    body = {"name": name, "config": config, "state": state, "offsets": offsets}
    expected = (name, config, state and state.upper(), offsets)
    assume("${" not in json.dumps([name, offsets]))
    for file, text in (
        ("a.json", json.dumps(body)),
        ("a.json", json.dumps(body, ensure_ascii=False, indent=2)),
        ("a.yaml", yaml.safe_dump(body, allow_unicode=True, sort_keys=False, width=1000)),
        ("a.yaml", yaml.safe_dump_all([None, body])),
    ):
        Path(file).write_text(text, "utf-8", newline="")
        (found,) = manifests.read([Path(file)])
        assert (found.name, found.config, found.state, found.offsets) == expected, text
