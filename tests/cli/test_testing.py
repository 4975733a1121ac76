"""`kconnect test`. `tests/docs` types what docs/connectors.md says about it and about `kconnect preview`."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from kconnect.cli import yaml_file
from tests.cli.calls import call
from tests.cli.test_main import run

HERE = Path(__file__).parent

CASES = """\
config: connector.yaml
cases:
  - name: renamed
    in: {topic: a, value: {n: 1}}
    expect: {out: {topic: b}, value_json: {n: 1}}
  - name: not renamed
    in: {topic: c, value: {n: 1}}
    expect: {out: {topic: b}, value_json: {n: 2}}
"""
CONNECTOR = """\
connector.class: com.acme.Source
transforms: route
transforms.route.type: RegexRouter
transforms.route.regex: a
transforms.route.replacement: b
value.converter: JsonConverter
value.converter.schemas.enable: false
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("connector.yaml").write_text(CONNECTOR)
    Path("cases.yaml").write_text(CASES)
    return tmp_path


def test_the_examples_of_kip_585(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("test", str(HERE / "kip_585.yaml")) == 0
    assert capsys.readouterr().out.endswith("\n13 cases: 13 passed, 0 failed\n")


def test_what_is_different_is_shown(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("test", "cases.yaml") == 1
    assert (
        capsys.readouterr().out
        == """\
✓ renamed
✗ not renamed
    out.topic
      expected: "b"
      got:      "c"
    value_json.n
      expected: 2
      got:      1
2 cases: 1 passed, 1 failed
"""
    )


def test_contexts_and_urls_that_are_wrong_matter_only_where_a_worker_is_asked(files: Path) -> None:
    Path("contexts.yaml").write_text("current: [")
    env = {"KCONNECT_CONFIG": str(files / "contexts.yaml")}
    Path("in.jsonl").write_text('{"topic": "a", "value": {"n": 1}}')
    preview = ("preview", "-f", "connector.yaml", "--input", "in.jsonl")
    assert call("test", "cases.yaml", env=env).out.endswith("2 cases: 1 passed, 1 failed\n")
    assert call(*preview, env=env).status == 0
    assert call(*preview, env={"KCONNECT_URL": "nonsense"}).status == 0
    for command in (("test", "cases.yaml", "--against", "x"), ("preview", "--input", "in.jsonl", "--against", "x")):
        refused = call(*command, env=env)
        assert (refused.status, "contexts.yaml" in refused.err) == (2, True), refused


def test_the_way_of_a_record_that_fails(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("test", "cases.yaml", "--show") == 1
    out = capsys.readouterr().out
    assert "✓ route    nothing changed\n" in out
    assert out.count("Record ") == 1


def test_a_report_for_a_ci(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.yaml").write_text(
        '- {name: "bad \\x01 config", config: {transforms: x}, in: {topic: a}, expect: {dropped: true}}\n'
    )
    assert run("test", "cases.yaml", "other.yaml", "--junit", "report.xml") == 1
    out = capsys.readouterr().out
    assert out.startswith("cases.yaml\n✓ renamed\n")
    assert out.endswith("3 cases: 1 passed, 2 failed\n")
    first, second = ElementTree.parse("report.xml").getroot()
    assert {name: first.get(name) for name in ("name", "tests", "failures", "errors")} == {
        **{"name": "cases.yaml", "tests": "2", "failures": "1", "errors": "0"}
    }
    passed, failed = first
    assert (passed.get("classname"), passed.get("name"), len(passed)) == ("cases", "renamed", 0)
    assert (failed[0].tag, failed[0].text) == (
        "failure",
        'out.topic\n  expected: "b"\n  got:      "c"\nvalue_json.n\n  expected: 2\n  got:      1',
    )
    ((broken,),) = second
    assert (second.get("errors"), broken.tag) == ("1", "error")
    assert 'Missing required configuration "transforms.x.type"' in (broken.text or "")


def test_worker_settings_of_a_file_of_cases(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = "cases: [{config: {connector.class: x}, in: {topic: t, value: 1}, expect: {value_text: '1'}}]\n"
    for worker in ("worker.properties", "{value.converter: StringConverter}"):
        Path("worker.properties").write_text("value.converter=StringConverter\n")
        Path("more.yaml").write_text(f"worker: {worker}\n{cases}")
        assert run("test", "more.yaml") == 0
    Path("more.yaml").write_text(cases)
    assert run("test", "more.yaml") == 1
    assert run("test", "more.yaml", "-w", "worker.properties") == 0


@pytest.mark.parametrize("is_file", [True, False])
@pytest.mark.parametrize(
    "setting",
    [
        "python.transform.path",
        "plugin.path",
        "plugin.discovery",
        "config.providers",
        "config.providers.a.class",
        "java.host.opts",
    ],
)
def test_cases_load_no_code_and_read_nothing_of_who_runs_them(
    files: Path, capsys: pytest.CaptureFixture[str], setting: str, is_file: bool
) -> None:
    """Whoever writes cases is not always whoever runs them: a CI runs those of a change that nobody has read."""
    Path("evil.py").write_text("open('owned', 'w').close()\n")
    Path("worker.properties").write_text(f"value.converter=StringConverter\n{setting}={files}\n")
    given = "worker.properties" if is_file else f"{{value.converter: StringConverter, {setting}: {files}}}"
    config = "{connector.class: x, transforms: p, transforms.p.type: Python, transforms.p.function: 'evil:f'}"
    Path("more.yaml").write_text(
        f"worker: {given}\ncases: [{{config: {config}, in: {{topic: t, value: 1}}, expect: {{dropped: true}}}}]\n"
    )
    assert run("test", "more.yaml") == 2
    assert f"{setting} is not taken from cases: give the worker's file with -w" in capsys.readouterr().err
    assert not Path("owned").exists()
    if setting == "python.transform.path":
        Path("worker.properties").write_text(f"python.transform.path={files}\n")
        assert run("test", "more.yaml", "-w", "worker.properties") == 1
        assert Path("owned").exists(), "the control: given by who runs them, it is loaded"


def test_cases_name_converters_and_nothing_else_counts(files: Path) -> None:
    cases = "cases: [{config: {connector.class: x}, in: {topic: t, value: 1}, expect: {value_text: '1'}}]\n"
    Path("worker.properties").write_text("value.converter=StringConverter\nbootstrap.servers=\n")
    Path("more.yaml").write_text(f"worker: worker.properties\n{cases}")
    assert run("test", "more.yaml") == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "kconnect: cases.yaml: No such file or directory"),
        ("a: [", "kconnect: cases.yaml: this is not YAML (expected the node content, but found '<stream end>' in line 1)"),
        ("a: 1\na: 2", "kconnect: cases.yaml: this is not YAML (the key a is there twice in line 2)"),
        ("- {in: 1}", "kconnect: cases.yaml, case 1: `config` is missing: settings, or the path of a file with them, here or"),
        (
            "- {config: {a: b}, in: {topic: 1}, expect: {out: {}}}",
            "kconnect: cases.yaml, case 1: `in`: `topic` must be a text, not a number",
        ),
    ],
)
def test_a_file_that_is_no_use(files: Path, capsys: pytest.CaptureFixture[str], text: str | None, said: str) -> None:
    Path("cases.yaml").unlink()
    if text is not None:
        Path("cases.yaml").write_text(text)
    assert run("test", "cases.yaml") == 2
    assert said in capsys.readouterr().err


def test_a_config_file_that_is_missing_fails_its_case_only(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("cases.yaml").write_text(CASES + "    config: none.json\n")
    assert run("test", "cases.yaml") == 1
    assert "✓ renamed\n✗ not renamed\n    none.json: No such file or directory\n" in capsys.readouterr().out


def test_yaml_as_people_mean_it() -> None:
    text = "{a: no, b: 1:30, c: 2024-01-31, d: 010, e: 1.5e3, f: , g: ~, h: true, i: 0x1F, j: <<, k: 1_000, l: -0.0}"
    assert repr(yaml_file.load(text)) == repr(
        {
            **{"a": "no", "b": "1:30", "c": "2024-01-31", "d": 10, "e": 1500.0, "f": None, "g": None, "h": True},
            **{"i": "0x1F", "j": "<<", "k": "1_000", "l": -0.0},
        }
    )
    assert yaml_file.load("{a: 1.50, b: 010, c: true}", numbers=False) == {"a": "1.50", "b": "010", "c": True}
