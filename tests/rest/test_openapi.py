"""The OpenAPI document: it is valid, it tells of every route, and what it says of answers is what is answered."""

from __future__ import annotations

import jsonschema_rs
import pytest
import schemathesis

from kconnect.rest import schemas
from kconnect.rest.app import RestSettings, build, build_admin

from .conftest import ADVERTISED, Http
from .herder import MemoryHerder


def test_the_document_is_valid(http: Http) -> None:
    document = http("GET", "/openapi.json").json()
    schemathesis.openapi.from_dict(document).validate()
    document["paths"]["/"]["get"]["responses"]["200"].pop("description")
    with pytest.raises(Exception, match="description"):  # the control: this does check
        schemathesis.openapi.from_dict(document).validate()


def test_operations_have_names_of_their_own(http: Http) -> None:
    operations = [
        operation["operationId"]
        for path in http("GET", "/openapi.json").json()["paths"].values()
        for operation in path.values()
    ]
    assert len(operations) == len(set(operations)) > 20


def test_it_tells_of_what_this_listener_serves(herder: MemoryHerder) -> None:
    """Every path is one that answers OPTIONS with these methods, and the paths of the other listener are not there."""
    regular = Http(build(herder, RestSettings(ADVERTISED, admin=False)))
    admin = Http(build_admin(herder, RestSettings(ADVERTISED)))
    for http in (regular, admin):
        for path, operations in http("GET", "/openapi.json").json()["paths"].items():
            allowed = http(
                "OPTIONS", path.format(connector="c", task=0, plugin="p", logger="l", file="main.js", worker="w:1")
            ).headers["allow"]
            assert set(allowed.split(",")) - {"HEAD", "OPTIONS"} == {method.upper() for method in operations}
    assert "/admin/loggers" not in regular("GET", "/openapi.json").json()["paths"]
    assert set(admin("GET", "/openapi.json").json()["paths"]) >= {"/admin/loggers", "/admin/loggers/{logger}"}


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_examples_fit_their_schemas(name: str) -> None:
    assert validator(name).is_valid(schemas.example(schemas.ref(name)))


def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({**schemas.ref(name), "components": {"schemas": schemas.SCHEMAS}})
