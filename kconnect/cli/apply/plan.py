"""
What `kconnect apply` has to do so that a cluster has the connectors that files describe: computed here, done by `run.py`.

It compares with the configs as they were submitted, which is what both kconnect and Apache Kafka Connect give back, so that a
connector of which nothing differs is not touched.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api.config import HIDDEN
from kconnect.cli.manifests import Config, Manifest
from kconnect.core.settings import secrets

CREATE, CHANGE, DELETE, UNCHANGED = "create", "change", "delete", "unchanged"

DONE = {CREATE: "created", CHANGE: "changed", DELETE: "deleted", UNCHANGED: "unchanged"}

_MARKS = {CREATE: "+", CHANGE: "~", DELETE: "-"}


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference in one setting; None where it isn't set."""

    key: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """
    A step for one connector.

    `state` is what the worker is to be asked for, None to leave it; `state_now` what its status says. `offsets` are to be set,
    None to leave them. A step that deletes has no manifest. With a `tag`, only the config that had it is replaced.
    """

    name: str
    action: str
    manifest: Manifest | None = None
    differences: tuple[Difference, ...] = ()
    state: str | None = None
    state_now: str | None = None
    offsets: list[dict[str, Any]] | None = None
    tag: str | None = None


def make(
    manifests: Iterable[Manifest],
    configs: Mapping[str, Config],
    states: Mapping[str, str],
    prune: Sequence[str] | None = None,
    bare: Collection[str] = (),
) -> list[Step]:
    """
    Return one step for each connector, in the order of the files; then the deletions.

    Args:
        configs: of the cluster's connectors.
        states: of those, as their statuses say.
        prune: globs of the names that may be deleted if no file has them; None deletes nothing.
        bare: those that are STOPPED and have no offsets, as an apply that was cut short leaves them.
    """
    steps = [
        _step(manifest, configs.get(manifest.name), states.get(manifest.name), manifest.name in bare) for manifest in manifests
    ]
    in_files = {step.name for step in steps}
    return steps + [
        Step(name, DELETE)
        for name in configs
        if name not in in_files and any(fnmatch.fnmatchcase(name, glob) for glob in prune or ())
    ]


def differences(old: Config, new: Config) -> tuple[Difference, ...]:
    """
    Return the settings that differ, in the order of the new config, then those that it lacks. A null is the same as a setting
    that isn't there.
    """
    keys = [*new, *(key for key in old if key not in new)]
    return tuple(Difference(key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key))


def named_shortly(configs: Mapping[str, Config], manifests: Iterable[Manifest]) -> dict[str, str]:
    """
    Return the classes of connectors that the worker has stored in full, where the file has the short name that Kafka Connect
    has for them. That is no difference if the class is installed: who submits it again gets the same.
    """
    full_names = {}
    for manifest in manifests:
        stored = configs.get(manifest.name, {}).get("connector.class") or ""
        class_name = (manifest.config.get("connector.class") or "").strip()
        simple = stored.rpartition(".")[2]
        if simple != stored and class_name in (simple, simple.removesuffix("Connector")) and not stored.startswith("kconnect."):
            full_names[manifest.name] = stored
    return full_names


def _step(manifest: Manifest, config: Config | None, state: str | None, bare: bool) -> Step:
    new_config: Config = {**manifest.config, "name": manifest.name}
    if config is None:
        return Step(manifest.name, CREATE, manifest, differences({}, new_config), manifest.state, offsets=manifest.offsets)
    changes = differences({**config, "name": manifest.name}, new_config)
    new_state = manifest.state if _differs(manifest.state, state) else None
    offsets = manifest.offsets if bare else None
    action = CHANGE if changes or new_state or offsets else UNCHANGED
    return Step(manifest.name, action, manifest, changes, new_state, state, offsets)


def _differs(declared: str | None, now: str | None) -> bool:
    """
    Return whether the state has to be asked for. What failed, or is not running yet, is meant to run: nothing else is known of
    it. Of a connector without a status nothing is known at all, and to ask for a state that is so already does no harm.
    """
    if declared is None or now is None:
        return declared is not None
    return declared != now if declared != "RUNNING" else now in ("PAUSED", "STOPPED")


# -- in words ---------------------------------------------------------------------------------------------------------


def lines(step: Step, passwords: Collection[str] = (), hidden: bool = True) -> list[str]:
    """
    A heading, and a line with `-` or `+` for each value that goes or comes.

    Args:
        passwords: settings that the connector's class declares as passwords.
        hidden: show no secrets, only that they change.
    """
    if step.action == UNCHANGED:
        return []
    if step.action == DELETE:
        return [f"- {step.name}"]
    where = "" if step.manifest is None else f"  ({step.manifest.where})"
    texts = [f"{_MARKS[step.action]} {step.name}{where}"]
    for difference in step.differences:
        if step.action == CREATE and difference.key == "name":
            continue
        old, new = shown(difference, passwords, hidden)
        texts += [f"    {sign} {difference.key}: {value}" for sign, value in (("-", old), ("+", new)) if value is not None]
    if step.state is not None:
        if step.state_now is not None:
            texts.append(f"    - state: {step.state_now.lower()}")
        texts.append(f"    + state: {step.state.lower()}")
    for row in step.offsets or ():
        texts.append(f"    + offset: {json.dumps(row['partition'])} {json.dumps(row['offset'])}")
    return texts


def data(step: Step, passwords: Collection[str] = (), hidden: bool = True) -> dict[str, Any]:
    """The same for programs."""
    changes = [(difference.key, *shown(difference, passwords, hidden)) for difference in step.differences]
    document: dict[str, Any] = {"name": step.name, "action": step.action}
    document["changes"] = [{"key": key, "old": old, "new": new} for key, old, new in changes]
    if step.state is not None:
        document["state"] = {"old": step.state_now, "new": step.state}
    if step.offsets is not None:
        document["offsets"] = step.offsets
    return document


def shown(difference: Difference, passwords: Collection[str], hidden: bool) -> tuple[str | None, str | None]:
    """Return both values for people, on one line each."""
    # What the class declares a secret is one whatever its name is.
    name = "password" if difference.key in passwords else difference.key

    def show(value: str | None) -> str | None:
        text = secrets.masked({name: value})[name] if hidden else value
        return None if text is None else _line(text)

    old, new = show(difference.old), show(difference.new)
    if old == new and old is not None:
        new = f"{HIDDEN} (a different value)" if new == HIDDEN else f"{new} (the hidden value differs)"
    return old, new


def _line(value: str) -> str:
    return value if value and value.isprintable() and value == value.strip() else json.dumps(value, ensure_ascii=False)
