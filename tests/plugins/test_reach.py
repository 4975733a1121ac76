"""How far a config may reach: what is looked at, whose limits hold, and that a preview has them as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError
from kconnect.plugins.reach import Reach
from kconnect.plugins.registry import Registry
from kconnect.preview.preview import Preview
from tests.core.settings.test_worker import MINIMAL

NATIVE = {"reporter.producer.plugin.library.paths": "/x.so"}
LIMITS = {
    "connector.client.config.override.unsafe.allowlist": "ssl.providers",
    "connector.files.allowed.paths": "/data/in, /data/out",
}


def test_the_limits_are_the_worker_s_however_they_come() -> None:
    told = {"overrides": {"unsafe": ["ssl.providers"]}, "settings": {"connector.files.allowed.paths": "/data/in, /data/out"}}
    settings = WorkerSettings.from_properties({**MINIMAL, **LIMITS}, {})
    for reach in (Reach.of_worker(told), Reach.of_settings(settings)):
        assert (list(reach.unsafe), list(reach.folders)) == (["ssl.providers"], ["/data/in", "/data/out"])
    assert Reach.of_worker({}) == Reach((), [])


def test_the_task_s_own_clients_can_be_left_out() -> None:
    config = {"producer.override.plugin.library.paths": "/x.so", **NATIVE, "topic": None}
    assert [setting for setting, _ in Reach().problems(config, beside=True)] == [*NATIVE]
    assert [setting for setting, _ in Reach().problems(config)] == list(config)[:2]


def test_no_message_has_the_value() -> None:
    config = {"connection.url": "jdbc:mysql://h/x?user=u&password=canary&autoDeserialize=true"}
    [(_, message)] = Reach().problems(config)
    assert "autodeserialize" in message
    assert "canary" not in message


@pytest.mark.parametrize("path", ["relative", "/data/in\0/x", "/data/input/x", "/data/in/../x", "/"])
def test_what_is_not_below_a_folder(path: str) -> None:
    [(setting, message)] = Reach(folders=["/data/in"]).problems({"file": path})
    assert setting == "file"
    assert "Name a file there, by its absolute path" in message


@pytest.mark.parametrize("path", ["/data/in", "/data/in/x", "/data/in/y/../x", "/data//in/x"])
def test_what_is(path: str) -> None:
    assert list(Reach(folders=["/data/in"]).problems({"file": path})) == []


def test_a_folder_that_is_a_link_is_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    reach = Reach(folders=[str(tmp_path / "link")])
    assert list(reach.problems({"file": str(tmp_path / "real" / "x")})) == []
    assert list(reach.problems({"file": str(tmp_path / "link" / "x")})) == []


def test_a_preview_is_not_given_what_no_task_would_be() -> None:
    settings = WorkerSettings.from_properties(MINIMAL, {})
    with pytest.raises(ConfigError, match="loads native code"):
        Preview({"topics": "t", **NATIVE}, "sink", settings, Registry.scan(None))
    Preview({"topics": "t"}, "sink", settings, Registry.scan(None)).close()
