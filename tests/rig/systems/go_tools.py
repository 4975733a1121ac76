"""
Programs in Go that tests of Kubernetes need, built by Go from its module proxy into kconnect's cache: helm and kubeconform for
the chart, and an API server of custom resources for the operator.

`scripts/setup --kubernetes` runs this module: with two cores it takes ten minutes, once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.jvm import jars, lock

MODULES = {
    "helm": "helm.sh/helm/v3/cmd/helm@v3.22.0",
    "kubeconform": "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0",
    "apiextensions-apiserver": "k8s.io/apiextensions-apiserver@v0.37.2",
}
OF_THE_CHART = ("helm", "kubeconform")
_BUILD_S = 1800.0


def find(name: str) -> Path | None:
    """Return the program of the PATH, or the one that was built here."""
    on_path, built = shutil.which(name), _folder() / name
    return Path(on_path) if on_path else built if built.exists() else None


def find_or_build(name: str, build: bool = False) -> Path:
    """Return what `find` does. With `build`, build the program if there is none. Raise ConnectError if that can't be done."""
    if (found := find(name)) is not None:
        return found
    if not build:
        raise ConnectError(f"{name} was not found: `scripts/setup --kubernetes` builds it, which needs Go")
    if shutil.which("go") is None:
        raise ConnectError(f"{name} can't be built: install Go 1.26 or newer, or {name} itself")
    with lock.hold(jars.cache_dir() / "go.lock"):
        if find(name) is None:
            command = ["go", "install", MODULES[name]]
            environment = {**os.environ, "GOBIN": str(_folder()), "GOFLAGS": "-buildvcs=false"}
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=_BUILD_S)
            if done.returncode != 0:
                raise ConnectError(
                    f"`{' '.join(command)}` failed: {(done.stderr.strip() or 'no reason given').splitlines()[-1]}"
                )
    return _folder() / name


def _folder() -> Path:
    return jars.cache_dir() / "go" / "bin"


if __name__ == "__main__":
    try:
        for tool in MODULES:
            find_or_build(tool, build=True)
    except ConnectError as error:
        sys.exit(str(error))
