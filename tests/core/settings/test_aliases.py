"""Settings of transforms and predicates by alias, as Kafka's ConfigDef embeds one table in another."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator

from kconnect.api.config import ConfigDef, ConfigKey, Importance, NonEmptyString, Type, Width
from kconnect.core.settings import aliases

OWN = ConfigDef(
    ConfigKey("replace", Type.BOOLEAN, True, doc="d"),
    ConfigKey("field", Type.STRING, importance=Importance.LOW, doc="d", validator=NonEmptyString()),
    ConfigKey("spec", Type.STRING, importance=Importance.HIGH, doc="d", display_name="The spec", dependents=("field",)),
    ConfigKey("late", Type.INT, 1, doc="d", group="More", order=1),
    ConfigKey("type", Type.STRING, "mine", doc="masked by the framework's"),
)


def rows(config_def: ConfigDef) -> list[tuple[str, int, str]]:
    return [(key.name, key.order, key.display_name or "") for key in config_def.keys.values()]


def test_keys_come_by_group_and_order_then_what_must_be_given_then_importance_and_name() -> None:
    made = aliases.config_def("transforms", "f", ["1.0"], OWN)
    assert rows(made) == [
        ("transforms.f.type", 0, "Transformation type for f"),
        ("transforms.f.plugin.version", 1, "Transformation version for f"),
        ("transforms.f.spec", 2, "The spec"),
        ("transforms.f.field", 3, "field"),
        ("transforms.f.negate", 4, "negate"),
        ("transforms.f.predicate", 5, "predicate"),
        ("transforms.f.replace", 6, "replace"),
        ("transforms.f.late", 7, "late"),
    ]
    assert [made.keys[f"transforms.f.{name}"].group for name in ("spec", "late")] == ["Transforms: f", "Transforms: f: More"]
    assert made.keys["transforms.f.spec"].dependents == ("transforms.f.field",)
    assert made.keys["transforms.f.negate"].width is Width.NONE


def test_predicates_have_no_predicate_of_their_own() -> None:
    assert [name for name, _, _ in rows(aliases.config_def("predicates", "p", ["1.0"], ConfigDef(OWN.keys["field"])))] == [
        "predicates.p.type",
        "predicates.p.plugin.version",
        "predicates.p.field",
    ]


def test_without_its_class_there_are_the_class_and_its_version_only() -> None:
    made = aliases.config_def("transforms", "f", (), None, ["a.A", "a.B"])
    assert list(made.keys) == ["transforms.f.type", "transforms.f.plugin.version"]
    assert made.validate({})[0].recommended_values == ["a.A", "a.B"]


def test_parsing_says_the_full_name_and_a_plugins_validator_its_own() -> None:
    made = aliases.config_def("transforms", "f", (), OWN)
    told = {value.name: value.errors for value in made.validate({"transforms.f.field": "", "transforms.f.late": "x"})}
    assert told["transforms.f.field"] == ["Invalid value  for configuration field: String must be non-empty"]
    assert told["transforms.f.late"] == ["Invalid value x for configuration transforms.f.late: Not a number of type INT"]
    assert told["transforms.f.spec"] == ['Missing required configuration "transforms.f.spec" which has no default value.']


def test_a_plugins_recommender_is_asked_in_its_own_names() -> None:
    asked: list[tuple[str, dict[str, object]]] = []

    def recommend(name: str, parsed: object) -> list[str]:
        assert isinstance(parsed, dict)
        asked.append((name, parsed))
        return ["x"]

    own = ConfigDef(ConfigKey("field", Type.STRING, "a", doc="d", recommender=recommend))
    value = next(each for each in aliases.config_def("predicates", "p", ["1"], own).validate({}) if each.name.endswith("field"))
    assert value.recommended_values == ["x"]
    assert asked == [("field", {"type": None, "plugin.version": "1", "field": "a"})]


def test_an_alias_has_its_own_settings_in_their_order() -> None:
    config = {
        "transforms": "b,a,a.b",
        "transforms.a.type": "A",
        "transforms.a.z": "1",
        "transforms.a.b.type": "AB",
        "transforms.a.k": "2",
        "transforms.b.type": "B",
        "transforms.ab.type": "nobody's",
    }
    found = {alias.name: (alias.type, list(alias.properties.items())) for alias in aliases.transforms(config)}
    assert found == {
        "b": ("B", []),
        "a": ("A", [("z", "1"), ("b.type", "AB"), ("k", "2")]),
        "a.b": ("AB", []),
    }
    assert list(found) == ["b", "a", "a.b"]


class Counted(dict[str, str]):
    """Counts how often somebody looks through it."""

    looks = 0

    def __iter__(self) -> Iterator[str]:
        self.looks += 1
        return super().__iter__()

    def items(self) -> ItemsView[str, str]:  # type: ignore[override]
        self.looks += 1
        return super().items()


def test_no_alias_looks_at_the_settings_of_all_others() -> None:
    """Thousands of transforms took minutes of a host, at each start of a task."""
    names = [f"t{number}" for number in range(500)]
    config = Counted({"transforms": ",".join(names), **{f"transforms.{name}.type": "T" for name in names}})
    assert [alias.type for alias in aliases.transforms(config)] == ["T"] * 500
    assert 0 < config.looks < 5
