"""
The transform Expression: sets fields, headers and the topic, or the whole value, to what expressions in CEL give, or drops.

All expressions see the record as it came in, none the result of another. With schemas, what is added has one schema for all
records of one schema: as the expression's type is foretold (`cel/types.py`), or as the first value tells it where it can't
be. Called by the task chain. Read next: `cel/records.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.api import (
    ConfigDef,
    ConfigError,
    ConfigKey,
    DataError,
    Header,
    Importance,
    OneOf,
    Schema,
    SchemaType,
    Struct,
    Transformation,
    Type,
    Validator,
)
from kconnect.cel import CelError, Program, records, types
from kconnect.data import schema
from kconnect.data.kept import Kept, weight_of
from kconnect.transforms.growth import Growth

TYPES: Mapping[str, Schema] = {
    "int8": schema.OPTIONAL_INT8_SCHEMA,
    "int16": schema.OPTIONAL_INT16_SCHEMA,
    "int32": schema.OPTIONAL_INT32_SCHEMA,
    "int64": schema.OPTIONAL_INT64_SCHEMA,
    "float32": schema.OPTIONAL_FLOAT32_SCHEMA,
    "float64": schema.OPTIONAL_FLOAT64_SCHEMA,
    "boolean": schema.OPTIONAL_BOOLEAN_SCHEMA,
    "string": schema.OPTIONAL_STRING_SCHEMA,
    "bytes": schema.OPTIONAL_BYTES_SCHEMA,
    "timestamp": types.TIMESTAMP,
}
"""What `field.<path>.type` may say."""

_FIELD, _KEY_FIELD, _HEADER = "field.", "key.field.", "header."
_PREFIXES = {
    _FIELD: "Sets the value's field {name}: an expression in CEL. A point leads into a struct or map.",
    _KEY_FIELD: "Sets the key's field {name}: an expression in CEL. A point leads into a struct or map.",
    _HEADER: "Sets the header {name}, and replaces those of that name; null removes them. An expression in CEL.",
}


@dataclass(frozen=True)
class _Assignment:
    setting: str
    name: str
    program: Program
    type: Schema | None = None

    def of(self, record: Any) -> Any:
        return records.evaluate(self.program, self.setting, record)

    def fit(self, target: Schema | None, value: Any) -> Any:
        try:
            return types.fit(target, value)
        except CelError as error:
            raise records.failed(self.setting, self.program, error) from None

    def foretold(self, key: Schema | None, value: Schema | None) -> Schema | None:
        try:
            return self.type or types.settled(records.infer(self.program, key, value))
        except CelError as error:
            raise records.failed(self.setting, self.program, error) from None

    def told(self, value: Any) -> Schema | None:
        try:
            return types.of_value(value)
        except CelError as error:
            raise records.failed(self.setting, self.program, error) from None


class Expression(Transformation[Any]):
    CONFIG = ConfigDef(
        ConfigKey(
            "expression",
            Type.STRING,
            None,
            Importance.HIGH,
            "The whole new value: an expression in CEL, such as `value.after`. A map written out is a struct where values have "
            "schemas. Besides it there can be no `field.` settings.",
            records.Expression(),
        ),
        ConfigKey(
            "drop",
            Type.STRING,
            None,
            Importance.MEDIUM,
            "Drops records for which this expression in CEL is true.",
            records.Expression("bool"),
        ),
        ConfigKey(
            "topic",
            Type.STRING,
            None,
            Importance.MEDIUM,
            "The new topic: an expression in CEL; null leaves it. Further settings: `field.<path>`, `key.field.<path>` and "
            "`header.<name>` set fields and headers by expressions, `field.<path>.type` says a field's type, where it is not "
            f"to be the expression's own: {', '.join(TYPES)}.",
            records.Expression("string"),
        ),
    )

    def config(self) -> ConfigDef:
        return self.CONFIG

    def config_for(self, configs: Mapping[str, Any]) -> ConfigDef:
        """`config()`, and a row for each setting that these configs make up."""
        definition = ConfigDef(*self.CONFIG.keys.values())
        for setting in configs:
            prefix = next((candidate for candidate in _PREFIXES if setting.startswith(candidate)), None)
            if prefix is None or setting in definition.keys:
                continue
            name = setting[len(prefix) :]
            validator: Validator
            if _is_type(setting, configs):
                doc, validator = f"The type of {setting.removesuffix('.type')}.", OneOf(tuple(TYPES))
            else:
                doc, validator = _PREFIXES[prefix].format(name=name), _named(name)
            definition.define(ConfigKey(setting, Type.STRING, None, Importance.MEDIUM, doc, validator))
        return definition

    def configure(self, configs: Mapping[str, str]) -> None:
        texts = {name: text for name, text in self.config_for(configs).parse(configs).items() if text is not None}
        if not texts:
            raise ConfigError("Expression has nothing to do: set expression, drop, topic, field.<path> or header.<name>")
        programs = {name: records.program(text) for name, text in texts.items() if not _is_type(name, texts)}
        assigned = {
            prefix: [
                _Assignment(name, name[len(prefix) :], compiled, TYPES.get(texts.get(f"{name}.type", "")))
                for name, compiled in programs.items()
                if name.startswith(prefix)
            ]
            for prefix in _PREFIXES
        }
        if "expression" in texts and assigned[_FIELD]:
            field_setting = assigned[_FIELD][0].setting
            raise ConfigError(
                "expression", texts["expression"], f"it sets the whole value already; remove it or {field_setting}"
            )
        self._drop, self._topic = programs.get("drop"), programs.get("topic")
        self._headers = assigned[_HEADER]
        whole = _Assignment("expression", "", programs["expression"]) if "expression" in texts else None
        self._value = _Whole(whole) if whole else _Fields(assigned[_FIELD], "value") if assigned[_FIELD] else None
        self._key = _Fields(assigned[_KEY_FIELD], "key") if assigned[_KEY_FIELD] else None

    def apply(self, record: Any) -> Any:
        if self._drop is not None and self._true(record):
            return None
        changes: dict[str, Any] = {}
        growth = Growth("Expression")
        if self._value is not None:
            changes["value_schema"], changes["value"] = self._value.of(record, record.value_schema, record.value, growth)
        if self._key is not None:
            changes["key_schema"], changes["key"] = self._key.of(record, record.key_schema, record.key, growth)
        if self._headers:
            changes["headers"] = self._new_headers(record, growth)
        if self._topic is not None:
            topic = records.evaluate(self._topic, "topic", record)
            if topic is not None:
                if type(topic) is not str or not topic:
                    raise DataError(f"topic = {self._topic.text} must be text that is not empty; for this record it is not")
                changes["topic"] = topic
        return growth.check(record.new_record(**changes))

    def _true(self, record: Any) -> bool:
        assert self._drop is not None
        result = records.evaluate(self._drop, "drop", record)
        if result is True or result is False:
            return result
        raise DataError(f"drop = {self._drop.text} must be true or false, for this record it is neither")

    def _new_headers(self, record: Any, growth: Growth) -> list[Header]:
        names = {header.name for header in self._headers}
        headers = [header for header in record.headers if header.key not in names]
        for header in self._headers:
            value = header.of(record)
            if value is not None:
                growth.note(value)
                kind = header.told(value)
                headers.append(Header(header.name, header.fit(kind, value), kind))
        return headers


def _is_type(name: str, settings: Mapping[str, Any]) -> bool:
    return name.endswith(".type") and not name.startswith(_HEADER) and name.removesuffix(".type") in settings


def _named(name: str) -> Validator:
    def check(setting: str, value: Any) -> None:
        if not all(name.split(".")):
            raise ConfigError(setting, value, "the setting's own name must end in that of a field or header")
        records.Expression()(setting, value)

    return check


class _Kept:
    """A cache of what was made for the schemas of a record's key and value; those of a few are kept."""

    LIMIT = 64

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._made: Kept[tuple[Schema | None, Schema | None], Any] = Kept(self.LIMIT)

    def __call__(self, record: Any) -> Any:
        schemas = (record.key_schema, record.value_schema)
        entry = self._made.get(schemas)
        if entry is None:
            entry = self._make(record)
            self._made.put(schemas, entry, weight_of(*schemas))
        return entry


class _Types:
    """
    The schemas of some assignments' results, for records of one schema: foretold, or told by the first value, and by each later
    one that does not fit. Else whoever sends the first record would have those of all others refused.
    """

    def __init__(self, assignments: list[_Assignment], record: Any) -> None:
        self._assignments = assignments
        self.schemas = [assignment.foretold(record.key_schema, record.value_schema) for assignment in assignments]
        self._is_told = [foretold is None for foretold in self.schemas]

    def learn(self, place: int, value: Any) -> bool:
        if self.schemas[place] is None:
            self.schemas[place] = self._assignments[place].told(value)
            return self.schemas[place] is not None
        return False

    def turn(self, results: list[Any]) -> bool:
        """Have the types that are not foretold be those of these results. Return whether one was another before."""
        turned = False
        for place, (assignment, result) in enumerate(zip(self._assignments, results)):
            told = assignment.told(result) if self._is_told[place] else None
            if told is not None and told != self.schemas[place]:
                self.schemas[place], turned = told, True
        return turned


class _Whole:
    """The whole value."""

    def __init__(self, assignment: _Assignment) -> None:
        self._assignment = assignment
        self._types = _Kept(lambda record: _Types([assignment], record))

    def of(self, record: Any, before: Schema | None, value: Any, growth: Growth) -> tuple[Schema | None, Any]:
        result = self._assignment.of(record)
        if type(result) is not Struct:
            # A struct is a part of the record.
            growth.note(result)
        if before is None:
            return None, self._assignment.fit(None, result)
        types_ = self._types(record)
        types_.learn(0, result)
        try:
            return types_.schemas[0], self._assignment.fit(types_.schemas[0], result)
        except DataError:
            if not types_.turn([result]):
                raise
            return types_.schemas[0], self._assignment.fit(types_.schemas[0], result)


class _Fields:
    """Fields of the key or the value."""

    def __init__(self, assignments: list[_Assignment], part: str) -> None:
        self._assignments, self._part = assignments, part
        self._plans = _Kept(lambda record: _Plan(assignments, record))

    def of(self, record: Any, before: Schema | None, value: Any, growth: Growth) -> tuple[Schema | None, Any]:
        """A null stays null: it is a tombstone, or no key."""
        if value is None:
            return before, None
        results = []
        for assignment in self._assignments:
            result = assignment.of(record)
            growth.note(result)
            results.append(result)
        if before is not None:
            if type(value) is not Struct:
                raise DataError(f"{self._assignments[0].setting} sets a field, but the {self._part} is not a struct")
            plan: _Plan = self._plans(record)
            return plan.of(results, value)
        for assignment, result in zip(self._assignments, results):
            value = self._put(value, assignment.name.split("."), assignment, assignment.fit(assignment.type, result))
        return None, value

    def _put(self, where: Any, path: list[str], assignment: _Assignment, item: Any) -> dict[Any, Any]:
        if where is not None and not isinstance(where, dict):
            raise DataError(f"{assignment.setting} sets a field of something in the {self._part} that is not a map")
        if len(path) > 1:
            item = self._put((where or {}).get(path[0]), path[1:], assignment, item)
        return {**(where or {}), path[0]: item}


class _Plan:
    """The plan by which a struct of one schema gets its fields."""

    def __init__(self, assignments: list[_Assignment], record: Any) -> None:
        self._assignments = assignments
        self._types = _Types(assignments, record)
        self._level: _Level | None = None

    def of(self, results: list[Any], value: Struct) -> tuple[Schema, Struct]:
        learned = [self._types.learn(place, result) for place, result in enumerate(results)]
        if self._level is None or any(learned):
            self._level = self._made(value.schema)
        level = self._level
        try:
            fit = self._fit(level, results)
        except DataError:
            if not self._types.turn(results):
                raise
            level = self._level = self._made(value.schema)
            fit = self._fit(level, results)
        for place, result in enumerate(fit):
            if result is None and not level.schemas[place].optional:
                raise DataError(f"{self._assignments[place].setting} gives null, but the field is required")
        return level.schema, level.put(value, fit)

    def _fit(self, level: _Level, results: list[Any]) -> list[Any]:
        return [
            assignment.fit(level.schemas[place], result)
            for place, (assignment, result) in enumerate(zip(self._assignments, results))
        ]

    def _made(self, before: Schema) -> _Level:
        tree: dict[str, Any] = {}
        for place, assignment in enumerate(self._assignments):
            path = assignment.name.split(".")
            if before.field(assignment.name) is not None:
                # As `Flatten` names fields.
                path = [assignment.name]
            inner = tree
            for name in path[:-1]:
                inner = inner.setdefault(name, {})
                if not isinstance(inner, dict):
                    raise DataError(f"{assignment.setting} sets a field of a value that another setting sets as a whole")
            inner[path[-1]] = place
        level = _Level(before, tree, self._assignments, self._types.schemas)
        # What is unknown still has taken a field's own schema: only a value that does not fit it changes it later.
        self._types.schemas = [known_schema or level.schemas[place] for place, known_schema in enumerate(self._types.schemas)]
        return level


class _Level:
    """A struct on the way to the fields. `schemas` are those of the assignments' fields, of this level and below."""

    def __init__(
        self, before: Schema, tree: Mapping[str, Any], assignments: list[_Assignment], targets: list[Schema | None]
    ) -> None:
        self.schemas: dict[int, Schema] = {}
        self._added = 0
        self._here: list[tuple[int, int]] = []
        self._below: list[tuple[int, _Level]] = []
        fields = {field.name: field.schema for field in before.fields}
        places = {field.name: field.index for field in before.fields}
        for name, what in tree.items():
            old = fields.get(name)
            if name not in places:
                places[name] = len(before.fields) + self._added
                self._added += 1
            if isinstance(what, dict):
                if old is None or old.type is not SchemaType.STRUCT:
                    raise DataError(f"{assignments[_first(what)].setting} leads through {name}, which is not a struct")
                level = _Level(old, what, assignments, targets)
                self._below.append((places[name], level))
                self.schemas.update(level.schemas)
                fields[name] = level.schema
            else:
                fields[name] = self.schemas[what] = _field_schema(old, assignments[what], targets[what])
                self._here.append((places[name], what))
        attributes = {"name": before.name, "version": before.version, "doc": before.doc, "parameters": before.parameters}
        self.schema: Schema = schema.struct(fields, optional=before.optional, **attributes)

    def put(self, value: Struct, results: list[Any]) -> Struct:
        values = [*value.values, *[None] * self._added]
        for place, what in self._here:
            values[place] = results[what]
        for place, level in self._below:
            if values[place] is not None:
                values[place] = level.put(values[place], results)
        return Struct.unchecked(self.schema, values)


def _first(tree: Mapping[str, Any]) -> int:
    inner = next(iter(tree.values()))
    return _first(inner) if isinstance(inner, dict) else int(inner)


def _field_schema(old: Schema | None, assignment: _Assignment, result_schema: Schema | None) -> Schema:
    """A field that is there keeps its schema, unless the expression is of another type."""
    if assignment.type is not None:
        return assignment.type
    if old is not None and old.name in (None, schema.TIMESTAMP) and (result_schema is None or types.read(old) == result_schema):
        return old
    if result_schema is None:
        raise DataError(
            f"{assignment.setting} = {assignment.program.text} gives null, and the field's type is not known: set it with "
            f"{assignment.setting}.type"
        )
    return result_schema
