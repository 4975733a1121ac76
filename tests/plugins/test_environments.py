"""Environments and realms: what plugin code finds when it imports. All that changes `sys.modules` runs in child processes."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from kconnect.plugins import arrangement
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from tests.rig.systems.plugin_packages import PluginPackage

pytestmark = pytest.mark.process

PREPARE = """
import json, sys
from kconnect.plugins import environments
from kconnect.plugins.scan import INSTALLED
directories = json.loads(sys.argv[1])
def enter(): environments.enter(directories)
def load(number, module): return environments.import_module(directories[number], module)
def answer(*found): print(json.dumps(found))
"""


def run(code: str, directories: Sequence[Path], **options: Any) -> Any:
    """What `code`, run in a new process, answers: a list. It gets `directories` as their paths."""
    args = [sys.executable, "-c", PREPARE + code, json.dumps(list(map(str, directories)))]
    done = subprocess.run(args, capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def make(directory: Path, files: Mapping[str, str | bytes]) -> Path:
    for path, content in files.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return directory


FLAT = {
    "flat/__init__.py": "import helper\nfrom . import sub\nimport flat.deep.end as end\nversion = '{version}'\n",
    "flat/sub.py": """
from helper import name
import flat
def lazy():
    import flat.late
    from flat import later
    return flat.late.version, later.version
""",
    "flat/late.py": "version = '{version}'\n",
    "flat/later.py": "version = '{version}'\n",
    "flat/deep/__init__.py": "from ..late import version\n",
    "flat/deep/end.py": "import flat.deep\nfrom ..deep import version\nwhere = flat.deep.__name__\n",
    "flat/data.py": """
from __future__ import annotations
import dataclasses, pickle, typing
from helper import Kind
@dataclasses.dataclass
class Point:
    x: int
    kind: Kind
def there_and_back(): return pickle.loads(pickle.dumps(Point(3, Kind()))) == Point(3, Kind())
def hints(): return typing.get_type_hints(Point)['kind'] is Kind
""",
    "flat/dynamic.py": """
import importlib, importlib.util, importlib.metadata as about, pkgutil
from importlib import import_module, resources
from importlib.metadata import version as version_of
def found():
    return [importlib.import_module('flat.late').version, import_module('helper').name,
            import_module('.late', __package__).version, import_module('.late', 'flat').version,
            __import__('flat.late').version, import_module('json').__name__]
def places():
    return [importlib.util.find_spec('flat.late').origin, str(resources.files('flat')), str(resources.files(__package__))]
def texts():
    return [pkgutil.get_data('flat', 'note.txt').decode(), (resources.files('flat') / 'note.txt').read_text()]
def versions():
    return [about.version('flat'), version_of('helper'), about.metadata('flat')['Name'], about.version('orjson')]
""",
    "flat/note.txt": "note of {version}",
    "helper.py": "name = 'helper of {version}'\nclass Kind:\n    def __eq__(self, other): return type(self) is type(other)\n",
}


def flat(root: Path, version: str) -> Path:
    """A package `flat` with all that may go wrong when it is there twice, and the module `helper` that it needs."""
    files = {path: text.replace("{version}", version) for path, text in FLAT.items()}
    helper = {"helper.py": files.pop("helper.py")}
    PluginPackage("helper", f"{version}.5", helper).unpack(root / f"flat-{version}")
    return PluginPackage("flat", version, files).unpack(root / f"flat-{version}")


@pytest.fixture
def pair(tmp_path: Path) -> list[Path]:
    return [flat(tmp_path, "1"), flat(tmp_path, "2")]


@pytest.mark.parametrize("begin", ["enter()", ""])
def test_two_versions_of_a_package_and_of_what_it_needs(pair: list[Path], begin: str) -> None:
    """Also if nobody has entered the directories before: they come as they are asked for."""
    code = f"""
{begin}
both = load(0, "flat"), load(1, "flat")
answer([each.version for each in both], [each.sub.name for each in both], [each.sub.lazy() for each in both],
       [each.end.where for each in both], [each.end.version for each in both], [each.__name__ for each in both])
"""
    assert run(code, pair) == [
        ["1", "2"],
        ["helper of 1", "helper of 2"],
        [["1", "1"], ["2", "2"]],
        ["flat.deep", "_realm_1.flat.deep"],
        ["1", "2"],
        ["flat", "_realm_1.flat"],
    ]


def test_a_realm_s_classes_are_whole(pair: list[Path]) -> None:
    code = """
enter()
data = [load(number, "flat.data") for number in (0, 1)]
answer([each.there_and_back() for each in data], [each.hints() for each in data], data[0].Point is data[1].Point)
"""
    assert run(code, pair) == [[True, True], [True, True], False]


def test_what_looks_names_up_finds_the_realm_s(pair: list[Path]) -> None:
    code = """
enter()
dynamic = [load(number, "flat.dynamic") for number in (0, 1)]
answer(*[[each.found(), each.places(), each.texts(), each.versions()] for each in dynamic])
"""
    for version, (found, places, texts, versions) in zip("12", run(code, pair), strict=True):
        directory = str(pair[int(version) - 1] / "flat")
        assert found == [version, f"helper of {version}", version, version, version, "json"]
        assert places == [f"{directory}/late.py", directory, directory]
        assert texts == [f"note of {version}"] * 2
        assert versions == [version, f"{version}.5", "flat", importlib.metadata.version("orjson")]


def test_a_realm_sees_what_it_does_not_bring(tmp_path: Path) -> None:
    first = make(tmp_path / "a", {"flat.py": "who = 'a'", "only_a.py": "import flat\nwho = flat.who"})
    second = make(tmp_path / "b", {"flat.py": "who = 'b'", "user.py": "import flat, only_a, json\nwho = flat.who, only_a.who"})
    assert run('enter()\nanswer(load(1, "user").who)', [first, second]) == [["b", "a"]]


def test_two_realms(tmp_path: Path) -> None:
    three = [flat(tmp_path, version) for version in ("1", "2", "3")]
    code = """
enter()
all = [load(number, "flat") for number in (2, 0, 1)]
answer([each.version for each in all], [each.sub.lazy()[0] for each in all], [each.__name__ for each in all])
"""
    assert run(code, three) == [["3", "1", "2"]] * 2 + [["_realm_2.flat", "flat", "_realm_1.flat"]]


def test_threads_that_import_at_once(pair: list[Path]) -> None:
    code = """
import threading
enter()
found, start = [], threading.Barrier(8)
def work(number):
    start.wait()
    found.append((number, load(number, "flat").sub.lazy()[0]))
threads = [threading.Thread(target=work, args=(number % 2,)) for number in range(8)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
answer(sorted(set(found)), len(found))
"""
    assert run(code, pair) == [[[0, "1"], [1, "2"]], 8]


def test_namespace_packages_clash_by_their_parts(tmp_path: Path) -> None:
    parts = {"name/space/shared.py": "who = '{}'", "name/space/{}.py": "from name.space.shared import who"}
    first, second, third = (
        make(tmp_path / who, {path.format(who): text.format(who) for path, text in parts.items()}) for who in "abc"
    )
    (third / "name/space/shared.py").unlink()
    code = """
enter()
import name.space.a, name.space.c
answer(name.space.a.who, load(1, "name.space.b").who, name.space.c.who, sorted(n for n in sys.modules if "_realm" in n))
"""
    found = run(code, [first, second, third])
    assert found[:3] == ["a", "b", "a"]
    assert found[3] == ["_realm_1", *(f"_realm_1.name{rest}" for rest in ("", ".space", ".space.b", ".space.shared"))]


def test_one_copy_serves_those_that_need_the_same_version(tmp_path: Path) -> None:
    """Also of what could not be there twice; else two plugins that need the same library could be in no connector."""
    extension = Path(orjson.__file__).parent
    files = {f"xjson/{file.name}": file.read_bytes() for file in extension.glob("*.so")} | {"xjson/__init__.py": "n = 1"}
    places = []
    for who in "ab":
        PluginPackage("xjson", "3.0", files).unpack(tmp_path / who)
        places.append(PluginPackage(who, "1", {f"{who}.py": "import xjson"}).unpack(tmp_path / who))
    assert run('enter()\nanswer(load(0, "a").xjson is load(1, "b").xjson, load(1, "b").__name__)', places) == [True, "b"]
    assert [layout.is_realm for layout in arrangement.arrange(map(str, places))] == [False, False]


def own_orjson(directory: Path) -> Path:
    """Another version of a library with a C extension that kconnect works with, and a plugin that uses it."""
    files: dict[str, str | bytes] = {"orjson/__init__.py": "from orjson.orjson import dumps\n__version__ = '0.1'\n"}
    for file in Path(orjson.__file__).parent.glob("*.so"):
        files[f"orjson/{file.name}"] = file.read_bytes()
    PluginPackage("orjson", "0.1", files).unpack(directory)
    plugin = "import orjson\nimport orjson.orjson as core\ndef where(): return [orjson.__version__, core.__file__]\n"
    return make(directory, {f"{directory.name}.py": plugin})


def test_a_plugin_has_its_own_version_of_what_kconnect_has_imported(tmp_path: Path) -> None:
    """C extension and all, while kconnect goes on with the one that it has, also in plugins of its own that load later."""
    directory = own_orjson(tmp_path / "mine")
    code = """
import orjson
from kconnect.converters.json import JsonConverter
enter()
version, file = load(0, "mine").where()
converter = environments.import_module(INSTALLED, "kconnect.converters.json").JsonConverter()
converter.configure({"schemas.enable": "false"}, False)
written = converter.from_connect_data("t", None, {"a": 1})
from kconnect.converters import json_text
import importlib.metadata
answer(version, file.startswith(directories[0]), written.decode(), json_text.orjson is orjson,
       sys.modules["orjson"] is orjson, importlib.metadata.version("orjson"))
"""
    assert run(code, [directory]) == ["0.1", True, '{"a":1}', True, False, "0.1"]


def test_kconnect_s_plugins_that_come_later_work_with_kconnect_s_libraries(tmp_path: Path) -> None:
    directory = make(tmp_path / "mine", {"fastavro/__init__.py": "raise ValueError('not for kconnect')", "mine.py": ""})
    code = """
enter()
avro = environments.import_module(INSTALLED, "kconnect.converters.avro")
try:
    import fastavro
except ValueError as error:
    answer(avro.__name__, str(error))
"""
    assert run(code, [directory]) == ["kconnect.converters.avro", "not for kconnect"]


def test_no_plugin_replaces_kconnect_spark_or_python(tmp_path: Path) -> None:
    files = {f"{name}/__init__.py": "taken = True" for name in ("kconnect", "pyspark", "py4j")}
    directory = make(tmp_path / "greedy", {**files, "colorsys.py": "taken = True", "greedy.py": "import colorsys, pyspark"})
    code = """
import io, logging
log = io.StringIO()
logging.basicConfig(stream=log, format="%(message)s")
enter()
greedy = load(0, "greedy")
import kconnect, py4j
answer([hasattr(each, "taken") for each in (greedy.colorsys, greedy.pyspark, kconnect, py4j)], log.getvalue())
"""
    taken, text = run(code, [directory])
    assert taken == [False] * 4
    assert f"{directory} brings the module kconnect, which is ignored: it is kconnect's own" in text
    assert "the module colorsys, which is ignored: it is part of Python" in text
    (layout,) = arrangement.arrange([str(directory)])
    assert layout.ignored == {"kconnect", "pyspark", "py4j", "colorsys"}


def test_a_c_extension_in_a_realm_is_refused_with_both_directories_named(tmp_path: Path) -> None:
    first, second = own_orjson(tmp_path / "first"), own_orjson(tmp_path / "second")
    (second / "orjson-0.1.dist-info").rename(second / "orjson-0.2.dist-info")
    make(second, {"careful.py": "try:\n    import orjson\nexcept ImportError:\n    orjson = None\n"})
    code = """
enter()
load(0, "first")
try:
    load(1, "second")
except ImportError as error:
    answer(str(error), load(1, "careful").orjson)
"""
    text, without = run(code, [first, second])
    assert f"orjson is in {first}, too, and {second}/orjson/orjson." in text
    assert "is a C extension" in text and "need the same version of it" in text
    assert without is None


def test_a_c_extension_that_only_a_realm_s_directory_brings_is_loaded(tmp_path: Path) -> None:
    first = make(tmp_path / "first", {"shared.py": "who = 1"})
    second = make(own_orjson(tmp_path / "second"), {"shared.py": "who = 2", "user.py": "import shared, orjson"})
    code = """
enter()
user = load(1, "user")
answer(user.shared.who, user.orjson.__version__, user.__name__, user.orjson.__name__)
"""
    assert run(code, [first, second]) == [2, "0.1", "_realm_1.user", "orjson"]


def test_what_is_installed_beside_kconnect_can_be_there_beside_a_directory_s(tmp_path: Path) -> None:
    directory, site = flat(tmp_path, "2"), flat(tmp_path, "1")
    code = f"""
sys.path.append({str(site)!r})
import flat
enter()
answer(load(0, "flat").sub.lazy(), environments.import_module(INSTALLED, "flat").sub.lazy())
"""
    assert run(code, [directory]) == [["2", "2"], ["1", "1"]]


def test_a_link_that_is_turned_changes_nothing_for_who_has_entered(tmp_path: Path) -> None:
    link = tmp_path / "flat"
    link.symlink_to(flat(tmp_path, "1"))
    flat(tmp_path, "2")
    code = f"""
import os
enter()
package = load(0, "flat")
os.remove({str(link)!r}); os.symlink({str(tmp_path / "flat-2")!r}, {str(link)!r})
answer(package.version, package.sub.lazy())
"""
    assert run(code, [link]) == ["1", ["1", "1"]]


def test_an_environment_is_entered_once_and_one_that_has_vanished_is_empty(tmp_path: Path) -> None:
    code = """
path = list(sys.path)
enter()
try:
    enter()
except RuntimeError as error:
    answer(str(error), path == sys.path)
"""
    assert run(code, [tmp_path / "gone"]) == ["This process has entered an environment already", True]


def test_path_files_are_not_run(tmp_path: Path) -> None:
    directory = make(tmp_path / "a", {"a.py": "", "evil.pth": f"import os; os.mkdir({str(tmp_path / 'evil')!r})\n"})
    run('enter()\nload(0, "a")\nanswer()', [directory])
    assert not (tmp_path / "evil").exists()


TRANSFORM = """
import orjson
from kconnect.api.config import ConfigDef
from kconnect.api.transformation import Transformation
class Inky(Transformation):
    def configure(self, configs): ...
    def config(self): return ConfigDef()
    def apply(self, record): return record
"""


def test_validation_says_what_can_not_be_in_one_process(tmp_path: Path) -> None:
    places = []
    for version in ("1.0", "2.0"):
        entries = {"kconnect.transforms": {"Inky": "inky:Inky"}, "kconnect.converters": {"Inky": "inky:Inky"}}
        place = PluginPackage("inky", version, {"inky.py": TRANSFORM}, entries).install(tmp_path)
        own_orjson(place)
        (place / "orjson-0.1.dist-info").rename(place / f"orjson-0.{version[0]}.dist-info")
        places.append(place)
    plugins = Registry.scan([str(tmp_path)])
    worker = {"value.converter": "Inky", "value.converter.plugin.version": "2.0", "key.converter": "StringConverter"}
    sandbox = Sandbox(plugins, [str(tmp_path)], 100, converters=worker)

    def errors(**versions: str) -> dict[str, list[str]]:
        config = {"name": "c", "connector.class": "FileStreamSource", "topic": "t", "transforms": ",".join(versions)}
        for alias, version in versions.items():
            config |= {f"transforms.{alias}.type": "Inky", f"transforms.{alias}.plugin.version": version}
        rows = sandbox.validate("FileStreamSource", config)["configs"]
        return {row["value"]["name"]: row["value"]["errors"] for row in rows if row["value"]["errors"]}

    try:
        assert errors(a="2.0", b="2.0") == {}
        # The worker's converter comes first, and a transform of the other version can't have its own orjson.
        assert list(errors(a="1.0")) == ["transforms.a.type"]
        (text,) = errors(a="1.0")["transforms.a.type"]
    finally:
        sandbox.close()
    assert f"The class inky.Inky (inky:Inky in {places[0]}) can't be imported: ImportError: orjson is in {places[1]}" in text
    assert "which can't be loaded beside others of its name in one process" in text
