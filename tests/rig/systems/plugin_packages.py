"""
Plugins as they are distributed, made without network or pip: a directory as `pip install --target` leaves it, or a wheel.

For tests that need several versions of a plugin, or one that does harm. What a worker reads of such a directory:
`plugins/scan.py`.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class PluginPackage:
    """
    A distribution. `modules` are its files by their paths, as `flat/__init__.py`; `entry_points` are `module:Class` by group
    and name, as `{"kconnect.transforms": {"Flat": "flat:Flat"}}`; `requires` what it depends on, as `xxhash>=3`.
    """

    name: str
    version: str
    modules: Mapping[str, str | bytes] = field(default_factory=dict)
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    requires: tuple[str, ...] = ()

    def install(self, plugin_path: Path) -> Path:
        """Install it as `name-version` in a directory of `plugin.path`; gives the new directory."""
        return self.unpack(plugin_path / f"{self.name}-{self.version}")

    def unpack(self, directory: Path) -> Path:
        """Put it into that very directory, which may have others already; gives it back."""
        for path, content in self._files("pip").items():
            target = directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return directory

    def wheel(self, directory: Path) -> Path:
        """Make a wheel that pip installs; gives its file. The version should be one of Python's (PEP 440)."""
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"{self._escaped}-py3-none-any.whl"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in self._files().items():
                archive.writestr(path, content)
        return file

    @property
    def _escaped(self) -> str:
        """Name and version as file names have them, where a dash stands between the two only."""
        name = re.sub(r"[-_.]+", "_", self.name).lower()
        return f"{name}-{self.version.replace('-', '_')}"

    def _files(self, installer: str | None = None) -> dict[str, bytes]:
        """All files by their paths."""
        info = f"{self._escaped}.dist-info"
        files = {path: text.encode() if isinstance(text, str) else text for path, text in self.modules.items()}
        requires = "".join(f"Requires-Dist: {each}\n" for each in self.requires)
        files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n{requires}".encode()
        files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: kconnect\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        if installer is not None:
            files[f"{info}/INSTALLER"] = f"{installer}\n".encode()
        if self.entry_points:
            files[f"{info}/entry_points.txt"] = "\n".join(map(_group, self.entry_points.items())).encode()
        record = "".join(f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in files.items())
        files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
        return files


def _group(group: tuple[str, Mapping[str, str]]) -> str:
    name, targets = group
    return f"[{name}]\n" + "".join(f"{each} = {target}\n" for each, target in targets.items())


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
