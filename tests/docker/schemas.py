"""
The schemas of Kubernetes by which kubeconform checks the chart, in `schemas/`: only the kinds that the chart has, complete in
themselves, strict, and without descriptions. They are made from files of Kubernetes, KEDA and the Prometheus operator, which
have the Apache License 2.0, too.

`.venv/bin/python -m tests.docker.schemas SWAGGER CRD…` writes them, from Kubernetes' api/openapi-spec/swagger.json and from the
files of custom resources; docs/kubernetes.md has the versions. `test_chart.py` uses them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).with_name("schemas")
KINDS = {
    "ConfigMap": "io.k8s.api.core.v1",
    "Deployment": "io.k8s.api.apps.v1",
    "NetworkPolicy": "io.k8s.api.networking.v1",
    "PodDisruptionBudget": "io.k8s.api.policy.v1",
    "Role": "io.k8s.api.rbac.v1",
    "RoleBinding": "io.k8s.api.rbac.v1",
    "Service": "io.k8s.api.core.v1",
    "ServiceAccount": "io.k8s.api.core.v1",
    "StatefulSet": "io.k8s.api.apps.v1",
}
LOCATION = f"{FOLDER}/{{{{ .ResourceKind }}}}.json"
"""As kubeconform wants it, which writes kinds in small letters."""

_KEPT = ("type", "enum", "required", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "oneOf", "anyOf")
_LARGE = ("managedFields",)
"""What nobody writes in a manifest."""


def write(swagger: Path, resources: list[Path]) -> None:
    FOLDER.mkdir(exist_ok=True)
    definitions = json.loads(swagger.read_text("utf-8"))["definitions"]
    for kind, group in KINDS.items():
        _write(kind, _closed(definitions[f"{group}.{kind}"], definitions))
    for path in resources:
        resource = yaml.safe_load(path.read_text("utf-8"))
        (version,) = [each for each in resource["spec"]["versions"] if each["storage"]]
        schema = _closed(version["schema"]["openAPIV3Schema"], {})
        schema["properties"]["metadata"] = _closed(definitions["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"], definitions)
        _write(resource["spec"]["names"]["kind"], schema)


def _write(kind: str, schema: dict[str, Any]) -> None:
    (FOLDER / f"{kind.lower()}.json").write_text(json.dumps(schema, separators=(",", ":"), sort_keys=True) + "\n", "utf-8")


def _closed(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with what it refers to in it, and without room for fields that it does not name."""
    if "$ref" in schema:
        return _closed(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if schema.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    kept = {key: value for key, value in schema.items() if key in _KEPT}
    if "properties" in schema:
        fields = {name: field for name, field in schema["properties"].items() if name not in _LARGE}
        kept["properties"] = {name: _optional(_closed(field, definitions)) for name, field in fields.items()}
        kept["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields", False))
    elif isinstance(schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = _closed(schema["additionalProperties"], definitions)
    if "items" in schema:
        kept["items"] = _closed(schema["items"], definitions)
    return kept


def _optional(schema: dict[str, Any]) -> dict[str, Any]:
    """A field may be null: then it is as if it were not there."""
    return {**schema, "type": [schema["type"], "null"]} if isinstance(schema.get("type"), str) else schema


if __name__ == "__main__":
    write(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
