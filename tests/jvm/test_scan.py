"""Which Java plugins there are: `kconnect/jvm/scan.py`."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from kconnect.errors import ConnectError
from kconnect.jvm import jars, scan
from kconnect.jvm.scan import JavaPlugin
from kconnect.plugins.registry import Registry
from tests.rig.plugin_faults import java as faults

RIG = [
    JavaPlugin("config_provider", "rig.Secrets", "undefined"),
    JavaPlugin("connector", "rig.CopyingSink", "1.2.3", "sink"),
    JavaPlugin("connector", "rig.NumbersSource", "1.2.3", "source"),
    JavaPlugin("connector", "rig.RecordingSink", "1.2.3", "sink"),
    JavaPlugin("converter", "rig.Brackets", "undefined"),
    JavaPlugin("header_converter", "rig.Dashes", "undefined"),
    JavaPlugin("override_policy", "rig.NoAcks", "undefined"),
    JavaPlugin("predicate", "rig.IsShort", "undefined"),
    JavaPlugin("transformation", "rig.Shout", "undefined"),
]


@pytest.mark.process
def test_a_location_is_scanned_once_for_each_state_that_it_is_in(java_plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scan.found([java_plugin])[0].plugins == RIG
    with monkeypatch.context() as patch:
        patch.setenv("JAVA_HOME", "/nowhere")  # It could not be scanned now.
        assert scan.found([java_plugin])[0].plugins == RIG
        (java_plugin / "more.jar").write_bytes((java_plugin / "rig.jar").read_bytes())
        with pytest.raises(ConnectError, match="JAVA_HOME is /nowhere"):
            scan.found([java_plugin])
    (java_plugin / "more.jar").unlink()


@pytest.mark.long
@pytest.mark.process
def test_plugins_without_a_manifest_are_found_as_plugin_discovery_says(
    java_plugin: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "unlisted"
    place.mkdir()
    with zipfile.ZipFile(java_plugin / "rig.jar") as listed, zipfile.ZipFile(place / "unlisted.jar", "w") as unlisted:
        for name in listed.namelist():
            if name.endswith(".class"):
                unlisted.writestr(name, listed.read(name))
    # The others Connect finds by their manifests only.
    walked = [each for each in RIG if each.kind not in ("config_provider", "override_policy")]
    names = [each.class_name for each in walked]
    assert scan.found([place])[0] == (walked, [], sorted(names))
    assert scan.found([place], "only_scan")[0] == (walked, [], [])
    assert scan.found([place], "service_load")[0] == ([], [], [])
    Registry.scan([str(tmp_path)])
    (warning,) = [record for record in caplog.records if "without a ServiceLoader manifest" in record.message]
    assert warning.levelname == "WARNING" and f"rig.Shout in {place}" in warning.message
    (found,) = scan.found([place], "hybrid_fail")
    assert found.plugins == []
    assert found.problems == [
        "plugin.discovery is hybrid_fail, and these have no ServiceLoader manifest: " + ", ".join(sorted(names))
    ]


@pytest.mark.process
@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_plugin_whose_code_ends_or_holds_up_the_scan_costs_only_itself_and_is_tried_again(
    java_plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults.write_plugins(tmp_path)
    bad = tmp_path / faults.NAME
    (bad / "home").mkdir()
    (bad / "home" / "plan").write_text("connector.constructor\ncrash\n")
    crashed, good = scan.found([bad, java_plugin])
    assert good.plugins == RIG
    assert crashed.problems == ["its classes can't be looked at: code of theirs ended its process (SIGABRT)"]
    (bad / "home" / "plan").write_text("connector.constructor\nbusy\n")
    with monkeypatch.context() as patch:
        patch.setattr(scan, "_LIMIT_S", 10)
        assert scan.found([bad])[0].problems == ["its classes can't be looked at: code of theirs took more than 10 s"]
    assert '"busy"' in (bad / "home" / "journal.jsonl").read_text()
    (bad / "home" / "plan").unlink()
    assert "faulty.BadSource" in [each.class_name for each in scan.found([bad])[0].plugins]


def test_what_is_java_s(tmp_path: Path) -> None:
    for name in ("deep/lib/a.jar", "python/x.dist-info/METADATA", "python/x.jar", "text/readme.txt", "alone.jar"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert {each.name for each in tmp_path.iterdir() if scan.is_java(each)} == {"deep", "alone.jar"}


@pytest.mark.process
def test_a_plugin_for_a_newer_java_is_told_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "new.jar", "w") as archive:
        archive.writestr("META-INF/services/org.apache.kafka.connect.sink.SinkConnector", "# ours\na.Sink\n")
        archive.writestr("a/Sink.class", b"\xca\xfe\xba\xbe\x00\x00" + (44 + 99).to_bytes(2, "big"))
    (found,) = scan.found([tmp_path / "new.jar"])
    assert found.plugins == []
    (problem,) = found.problems
    assert problem.startswith(f"{tmp_path}/new.jar is made for Java 99, and this is Java ")


@pytest.mark.process
def test_links_that_lead_in_a_circle_end_no_scan(tmp_path: Path) -> None:
    place = tmp_path / "plugin"
    (place / "libs").mkdir(parents=True)
    (place / "libs" / "up").symlink_to(place)
    (place / "libs" / "itself").symlink_to("itself")
    assert not scan.is_java(place)
    zipfile.ZipFile(place / "libs" / "a.jar", "w").close()
    assert scan.is_java(place) and scan.stamp(place)
    (place / "b.jar").symlink_to("b.jar")
    ((problem,),) = (each.problems for each in scan.found([place]))
    assert f"{place}/b.jar can't be read" in problem


@pytest.mark.long
@pytest.mark.process
def test_what_a_plugin_brings_of_connect_s_own_stays_the_built_in_one(tmp_path: Path) -> None:
    """As the archives of many vendors do: nobody's StringConverter is to become one in Java by that."""
    name = f"connect-json-{jars.KAFKA_VERSION}.jar"
    (tmp_path / "vendor").mkdir()
    shutil.copy(jars.connect() / name, tmp_path / "vendor" / name)
    registry = Registry.scan([str(tmp_path)])
    assert not registry.find("JsonConverter", "converter").java
    assert not registry.find("org.apache.kafka.connect.json.JsonConverter", "header_converter").java


@pytest.mark.long
@pytest.mark.process
def test_a_jar_of_connect_s_counts_with_its_own_version(tmp_path: Path) -> None:
    """It may be another than that of the built-in connector which stands for the same class."""
    name = f"connect-file-{jars.KAFKA_VERSION}.jar"
    shutil.copy(jars.connect() / name, tmp_path / name)
    registry = Registry.scan([str(tmp_path)])
    found = registry.find("FileStreamSource", "connector")
    assert (found.java, found.location, found.type) == (True, str(tmp_path / name), "source")
    assert registry.find("FileStreamSource", "connector").java_class == (found.class_name, found.location)
    built_in = registry.find("org.apache.kafka.connect.json.JsonConverter", "converter")
    assert (built_in.java, built_in.java_class) == (False, (built_in.class_name, ""))
    assert registry.find("AvroConverter", "converter").java_class is None
