"""Configs for `PUT /connector-plugins/{plugin}/config/validate`: what is wrong with them, and how it is said."""

from __future__ import annotations

from typing import Any

from tests.rig.parity.script.creation import SINK, SOURCE
from tests.rig.parity.step import Step, put

_T = "org.apache.kafka.connect.transforms."
_P = f"{_T}predicates."
_C = "org.apache.kafka.connect."
_DEFAULT_TOPICS = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "1"}


def _source(title: str, plugin: str = "FileStreamSource", **settings: Any) -> Step:
    return _validate(title, plugin, {"name": "v", **SOURCE, **_dotted(settings)})


def _sink(title: str, plugin: str = "FileStreamSink", **settings: Any) -> Step:
    return _validate(title, plugin, {"name": "v", **SINK, **_dotted(settings)})


def _validate(title: str, plugin: str, body: Any) -> Step:
    return put(f"validate: {title}", f"/connector-plugins/{plugin}/config/validate", body)


def _dotted(settings: dict[str, Any]) -> dict[str, Any]:
    """`tasks_max` stands for `tasks.max`, and `settings={…}` for names that Python can't write."""
    more = settings.pop("settings", {})
    return {**{name.replace("_", "."): value for name, value in settings.items()}, **more}


def _transform(title: str, kind: str, **settings: Any) -> Step:
    own = {f"transforms.f.{name}": value for name, value in _dotted(settings).items()}
    return _source(f"transform, {title}", settings={"transforms": "f", "transforms.f.type": _T + kind, **own})


def _f(kind: str) -> dict[str, str]:
    return {"transforms": "f", "transforms.f.type": kind}


def _predicate(title: str, kind: str, **settings: Any) -> Step:
    own = {f"predicates.p.{name}": value for name, value in _dotted(settings).items()}
    with_it = {**_f(f"{_T}Filter"), "transforms.f.predicate": "p"}
    return _source(f"predicate, {title}", settings={**with_it, "predicates": "p", "predicates.p.type": _P + kind, **own})


def _converter(title: str, which: str, kind: str | None, **settings: Any) -> Step:
    own = {f"{which}.converter.{name}": value for name, value in _dotted(settings).items()}
    return _source(f"converters: {title}", settings={f"{which}.converter": kind, **own})


_WHICH = ("key", "value", "header")

FRAMEWORK: list[Step] = [
    _source("source"),
    _sink("sink"),
    _source("by full name", f"{_C}file.FileStreamSourceConnector"),
    _source("by simple name", "FileStreamSourceConnector"),
    _sink("another type", "FileStreamSource"),
    _validate("no class", "FileStreamSource", {"topic": "t"}),
    _validate("null class", "FileStreamSource", {**SOURCE, "connector.class": None}),
    _validate("empty class", "FileStreamSource", {**SOURCE, "connector.class": ""}),
    _validate("unknown class", "Unheard", {"connector.class": "Unheard"}),
    _validate("nothing but the class", "FileStreamSource", {"connector.class": "FileStreamSource"}),
    _validate("nothing but the class, sink", "FileStreamSink", {"connector.class": "FileStreamSink"}),
    _validate("no body", "FileStreamSource", b""),
    _validate("malformed", "FileStreamSource", b"{"),
    _validate("a list", "FileStreamSource", []),
    _validate("null", "FileStreamSource", None),
    _source("empty name", name=""),
    _source("control characters in the name", name="a\u0001b\n"),
    _source("blanks around values", name="  v  ", tasks_max=" 2 ", topic=" t "),
    _source("number and boolean", tasks_max=3, errors_log_enable=True),
    _source("tasks.max is a word", tasks_max="abc"),
    _source("tasks.max is empty", tasks_max=""),
    _source("tasks.max is zero", tasks_max="0"),
    _source("tasks.max is too large", tasks_max="99999999999"),
    _source("tasks.max is negative", tasks_max="-3"),
    _source("tasks.max is null", tasks_max=None),
    _source("tasks.max.enforce", tasks_max_enforce="perhaps"),
    _source("unknown settings", settings={"nobody.knows": "this", "tasks.maximum": "3"}),
    _source("bad boolean", errors_log_enable="maybe"),
    _source("boolean in capitals", errors_log_enable="TRUE", errors_log_include_messages="False"),
    _source("bad tolerance", errors_tolerance="x"),
    _source("tolerance in capitals", errors_tolerance="ALL"),
    _source("bad retries", errors_retry_timeout="x", errors_retry_delay_max_ms="y"),
    _source("retry for ever", errors_retry_timeout="-1"),
    _source("negative retries", errors_retry_timeout="-2", errors_retry_delay_max_ms="-5"),
    _source("reload action", config_action_reload="NONE"),
    _source("bad reload action", config_action_reload="later"),
    _source("several errors in one", tasks_max="abc", errors_tolerance="x", topic=""),
    _source("topic is null", settings={"topic": None}),
    _validate("without a topic", "FileStreamSource", {"connector.class": "FileStreamSource", "name": "v"}),
    _source("file is null", file=None),
    _source("batch size is a word", batch_size="x"),
    _source("batch size is null", batch_size=None),
    _source("version", connector_plugin_version="8.8"),
    _source("bad version", connector_plugin_version="[bad"),
    _source("bad version of an inherited converter", value_converter_plugin_version="[bad"),
    _source("offsets topic", offsets_storage_topic="o"),
    _source("empty offsets topic", offsets_storage_topic=" "),
]

SOURCES: list[Step] = [
    _source("exactly once is required", exactly_once_support="required"),
    _source("exactly once is requested", exactly_once_support="REQUESTED"),
    _source("bad exactly once", exactly_once_support="always"),
    _source("boundary is the connector", transaction_boundary="connector"),
    _source("boundary is an interval", transaction_boundary="INTERVAL", transaction_boundary_interval_ms="500"),
    _source("bad boundary", transaction_boundary="sometimes", transaction_boundary_interval_ms="0"),
    _source("topic creation", settings=_DEFAULT_TOPICS),
    _source(
        "topic creation groups",
        settings={
            "topic.creation.groups": "a",
            **_DEFAULT_TOPICS,
            "topic.creation.a.include": "x.*",
        },
    ),
    _source(
        "topic creation group twice",
        settings={
            "topic.creation.groups": "a,a",
            **_DEFAULT_TOPICS,
        },
    ),
    _source("topic creation, bad partitions", settings={"topic.creation.default.partitions": "x"}),
]

SINKS: list[Step] = [
    _validate("sink without topics", "FileStreamSink", {"connector.class": "FileStreamSink", "name": "v"}),
    _sink("sink with both", topics_regex="t.*"),
    _sink("sink: empty topics", topics=""),
    _sink("sink: topics with blanks", topics=" a , b,,c "),
    _sink("sink: same topic twice", topics="a,a"),
    _validate("sink: pattern", "FileStreamSink", {"name": "v", "connector.class": "FileStreamSink", "topics.regex": "t.*"}),
    _validate("sink: bad pattern", "FileStreamSink", {"name": "v", "connector.class": "FileStreamSink", "topics.regex": "["}),
    _sink("sink: letters", errors_deadletterqueue_topic_name="dlq", errors_tolerance="all"),
    _sink("sink: its letters come back", topics="t1,dlq", errors_deadletterqueue_topic_name="dlq"),
    _validate(
        "sink: its letters match",
        "FileStreamSink",
        {
            "name": "v",
            "connector.class": "FileStreamSink",
            "topics.regex": "d.*",
            "errors.deadletterqueue.topic.name": "dlq",
        },
    ),
    _sink("sink: letters, bad replication", errors_deadletterqueue_topic_replication_factor="x"),
    _sink("sink: letters, bad headers", errors_deadletterqueue_context_headers_enable="x"),
    _sink("sink: the worker's group", settings={"consumer.override.group.id": "$N"}),
    _sink("sink: exactly once", exactly_once_support="required"),
]

TRANSFORMS: list[Step] = [
    _source("transforms: none", transforms=""),
    _source("transforms: null", transforms=None),
    _source("transforms: no type", transforms="f"),
    _source("transforms: twice", settings={"transforms": "f,f", "transforms.f.type": f"{_T}Filter"}),
    _source("transforms: unknown class", settings=_f("Nope")),
    _source("transforms: a connector", settings=_f(f"{_C}file.FileStreamSourceConnector")),
    _source("transforms: an abstract class", settings=_f(f"{_T}Cast")),
    _source("transforms: by simple name", settings=_f("RegexRouter")),
    _source(
        "transforms: two",
        settings={"transforms": "b, a", "transforms.a.type": f"{_T}Filter", "transforms.b.type": "Nope"},
    ),
    _source("transforms: settings of none", settings={"transforms.x.type": f"{_T}Filter"}),
    _transform("filter", "Filter"),
    _transform("cast", "Cast$Value", spec="int32"),
    _transform("cast without spec", "Cast$Value"),
    _transform("bad cast", "Cast$Value", spec="int33"),
    _transform("cast, no such type", "Cast$Key", spec="a:b:c"),
    _transform("drop headers, none", "DropHeaders"),
    _transform("extract", "ExtractField$Key", field="a"),
    _transform("extract, no field", "ExtractField$Key"),
    _transform("extract, bad syntax version", "ExtractField$Key", field="a", field_syntax_version="V9"),
    _transform("flatten", "Flatten$Value", delimiter="-"),
    _transform("header from, bad operation", "HeaderFrom$Value", fields="a", headers="b", operation="steal"),
    _transform("header from, uneven", "HeaderFrom$Value", fields="a,b", headers="b", operation="copy"),
    _transform("hoist, no field", "HoistField$Value"),
    _transform("insert, nothing", "InsertField$Value"),
    _transform("insert header, empty", "InsertHeader", settings={"header": "", "value.literal": "x"}),
    _transform("mask, no fields", "MaskField$Value"),
    _transform("mask, empty replacement", "MaskField$Value", fields="a", replacement=""),
    _transform("router", "RegexRouter", regex="(.*)", replacement="x$1"),
    _transform("router, bad pattern", "RegexRouter", regex="[", replacement="x"),
    _transform("router, nothing", "RegexRouter"),
    _transform("replace, bad rename", "ReplaceField$Value", renames="a"),
    _transform("schema metadata, bad version", "SetSchemaMetadata$Value", schema_version="x"),
    _transform("timestamp converter, nothing", "TimestampConverter$Value"),
    _transform("timestamp converter, bad type", "TimestampConverter$Value", target_type="moon"),
    _transform("timestamp converter, bad precision", "TimestampConverter$Value", target_type="unix", unix_precision="x"),
    _transform("timestamp router", "TimestampRouter"),
    _transform("value to key, no fields", "ValueToKey"),
    _transform("version", "Filter", plugin_version="9.9"),
    _transform("negate without a predicate", "Filter", negate="true"),
    _transform("negate is a word", "Filter", negate="x"),
    _transform("null setting", "RegexRouter", regex=None, replacement="x"),
    _transform("unknown setting", "Filter", colour="red"),
]

PREDICATES: list[Step] = [
    _predicate("topic name", "TopicNameMatches", pattern="x.*"),
    _predicate("bad pattern", "TopicNameMatches", pattern="["),
    _predicate("no pattern", "TopicNameMatches"),
    _predicate("header", "HasHeaderKey", name="h"),
    _predicate("empty header", "HasHeaderKey", name=""),
    _predicate("tombstone", "RecordIsTombstone"),
    _predicate("version", "RecordIsTombstone", plugin_version="9.9"),
    _source(
        "predicates: not defined",
        settings={**_f(f"{_T}Filter"), "transforms.f.predicate": "p"},
    ),
    _source("predicates: not used", settings={"predicates": "p", "predicates.p.type": f"{_P}RecordIsTombstone"}),
    _source("predicates: twice", settings={"predicates": "p,p", "predicates.p.type": f"{_P}RecordIsTombstone"}),
    _source("predicates: no type", predicates="p"),
    _source("predicates: unknown class", settings={"predicates": "p", "predicates.p.type": "Nope"}),
    _source("predicates: a transform", settings={"predicates": "p", "predicates.p.type": f"{_T}Filter"}),
]

CONVERTERS: list[Step] = [
    _converter("json", "value", f"{_C}json.JsonConverter"),
    _converter("json, its settings", "value", "JsonConverter", schemas_enable="false"),
    _converter("json, bad boolean", "value", "JsonConverter", schemas_enable="maybe"),
    _converter("json, two errors", "key", "JsonConverter", schemas_enable="x", decimal_format="y"),
    _converter("json, bad cache", "value", "JsonConverter", schemas_cache_size="x"),
    _converter("json, null", "value", "JsonConverter", schemas_cache_size=None),
    _converter("text", "key", f"{_C}storage.StringConverter"),
    _converter("bytes", "key", f"{_C}converters.ByteArrayConverter"),
    _converter("header", "header", f"{_C}storage.SimpleHeaderConverter"),
    _converter("header, json", "header", f"{_C}json.JsonConverter"),
    _source("converters: all", settings={f"{each}.converter": f"{_C}storage.StringConverter" for each in _WHICH}),
    _converter("unknown", "value", "com.acme.Nope"),
    _converter("unknown header", "header", "Nope"),
    _converter("a connector", "value", f"{_C}file.FileStreamSourceConnector"),
    _converter("an interface", "value", f"{_C}storage.Converter"),
    _converter("empty", "value", ""),
    _converter("null", "value", None),
    _converter("version", "value", "JsonConverter", plugin_version="9.9"),
    _converter("bad version", "value", "JsonConverter", plugin_version="[bad"),
    _source("converters: settings without a class", value_converter_schemas_enable="maybe"),
]

OVERRIDES: list[Step] = [
    _source("overrides: producer", settings={"producer.override.acks": "all", "producer.override.linger.ms": "5"}),
    _source("overrides: bad number", settings={"producer.override.linger.ms": "zz"}),
    _source("overrides: bad value", settings={"producer.override.acks": "7"}),
    _source("overrides: unknown", settings={"producer.override.nobody.knows": "x"}),
    _source("overrides: of a consumer, for a source", settings={"consumer.override.max.poll.records": "5"}),
    _source("overrides: password", settings={"producer.override.ssl.keystore.password": "secret"}),
    _sink("overrides: consumer", settings={"consumer.override.max.poll.records": "5", "consumer.override.group.id": "g"}),
    _sink("overrides: admin", settings={"admin.override.retries": "5"}),
    _source("overrides: null", settings={"producer.override.acks": None}),
]

VALIDATION = [*FRAMEWORK, *SOURCES, *SINKS, *TRANSFORMS, *PREDICATES, *CONVERTERS, *OVERRIDES]
