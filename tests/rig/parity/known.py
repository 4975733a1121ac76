"""
What may differ from Connect: the list, each with the words by which docs/compatibility.md tells of it.

A known difference that no longer occurs must go from here: a run fails on it. Read next: `expected.py`, by which they are
written and matched.
"""

from __future__ import annotations

from tests.rig.parity.expected import Known, Place, answered

OWN_SETTINGS = r"errors\.restart\.(max\.attempts|backoff\.ms|max\.backoff\.ms)|tasks\.(weight|isolation|memory\.max)"
DEAD_LETTERS = r"errors\.deadletterqueue\.(topic\.name|topic\.replication\.factor|context\.headers\.enable)"
_OF_AN_ANSWER = r"headers\.Location|body\.(name|config|tasks|type)"

KNOWN: tuple[Known, ...] = (
    Known(
        "bodies",
        "malformed or empty JSON body, unknown property, missing `config`",
        r"http: json with a charset|(create|put|validate|source offsets): (no body|empty body|malformed|null|a list|nested"
        r"|(an unknown property|a number)( in it)?|(null|no) config|config is a (text|list)|(nested|list) value"
        r"|offsets is an object|partition is a text)|change: (patch is a list|nested patch|no patch)",
        answered(500, 400, '"(Cannot|Unrecognized field|Unexpected end).*', '"(The |Unknown property |Partitions / offsets).*'),
    ),
    Known(
        "initial-state",
        "bad `initial_state`",
        r"create: (bad initial state|initial state is a number)",
        answered(500, 400, r'"Cannot construct instance.*', r'"Unknown initial_state .*'),
    ),
    Known(
        "validate-class",
        "validate without `connector.class`, or with an unknown one",
        r"validate: (no|null|unknown) class",
        answered(500, 400, r'"org\.apache\.kafka\.connect\.runtime\.rest\.errors\.BadRequestException: .*', ".*"),
    ),
    Known(
        "media-type",
        "body-less `PUT` or `POST` with another content type",
        r"http: (pause|restart), content type without a body",
        (*answered(415, 404, ".*", '"Unknown connector.*'), Place(r"headers\.Content-Type", r"\(absent\)")),
    ),
    Known(
        "reset-topics",
        "`PUT /connectors/{c}/topics/reset`",
        r"(none|topics): reset( topics)?",
        (Place("status", "202", "200"),),
    ),
    Known(
        "topic-records",
        "topic-usage records",
        r"records: status topic",
        (Place(r'"topic-.*', r"\(absent\)"),),
    ),
    Known(
        "undefined-predicate",
        "a transform names a predicate that is not defined, or an empty one",
        r"validate: predicates: not defined",
        (Place(r"body\.error_count", "0", "1"), Place(r"body\.configs\.transforms\.f\.predicate\.value\.errors", r"\[\]")),
    ),
    Known(
        "topic-creation",
        "mistakes in `topic.creation.*`, a default group that is not complete",
        r"validate: topic creation.*",
        (
            Place(r"body\.groups", ours=r'.*"Topic Creation: default".*'),
            Place(r"body\.configs\.topic\.creation\.(default|a)\..*", r"\(absent\)"),
            Place(r"body\.error_count", "0", "2"),
        ),
    ),
    Known(
        "override-type",
        "an override that is not of its setting's type (`producer.override.linger.ms=zz`)",
        r"validate: overrides: bad number",
        (
            Place("status", "500", "200"),
            Place(r"body\.(error_code|message)", ours=r"\(absent\)"),
            Place(r"body\.(name|groups)", r"\(absent\)"),
            Place(r"body\.error_count", r"\(absent\)", "1"),
            Place(r"body\.configs", r"\(absent\)"),
        ),
    ),
    Known(
        "override-text",
        "`acks`, `compression.type`, `auto.offset.reset`, `isolation.level` and the like with another text, or in another case",
        r"validate: overrides: bad value",
        (
            Place(r"body\.error_count", "0", "1"),
            Place(r"body\.configs\.producer\.override\.acks\.value\.errors", r"\[\]", r'\["Invalid value 7 for .*'),
        ),
    ),
    Known(
        "bad-version",
        "a `connector.plugin.version` that is no version, in `validate`",
        r"validate: bad version",
        answered(500, 400, '".*BadRequestException: Unbounded range: .*', '"Unbounded range: .*'),
    ),
    Known(
        "versions-twice",
        "messages that list the versions of a class that is both a converter and a header converter",
        r"validate: converters: version",
        (
            Place(
                r"body\.configs\.value\.converter(\.plugin\.version)?\.value\.errors\[0\]",
                r".*\[<version>, <version>\].*",
                r".*\[<version>\].*",
            ),
        ),
    ),
    Known(
        "own-settings",
        "connector settings that Kafka Connect does not have",
        r"(plugin config|validate): .*",
        (Place(rf"body\.(configs\.)?({OWN_SETTINGS})", r"\(absent\)"),),
    ),
    Known(
        "inferred-schemas",
        "`schemas.infer`, `schemas.infer.max.fields`, `schema.subject`, `schema.subject.version` of `JsonConverter`",
        r"(plugin config|validate): .*",
        (
            Place(
                r"body\.(configs\.(key|value|header)\.converter\.)?(schemas\.infer|schema\.subject)[a-z.]*",
                r"\(absent\)",
            ),
        ),
    ),
    Known(
        "source-dead-letters",
        "dead letter queue",
        r"(plugin config|validate): .*",
        (Place(rf"body\.(configs\.)?({DEAD_LETTERS})", r"\(absent\)"),),
    ),
    Known(
        "own-plugins",
        "plugins that Kafka Connect does not have",
        r"plugins(: .*)?|http: slash at the end, plugins",
        (
            # Where the answer is compared as a whole.
            Place("body", r"\[.*FileStream.*", r"\[.*kconnect\.connectors\..*"),
            Place(r"body\.(transformation|predicate|converter) (kconnect|io\.confluent)\..*", r"\(absent\)"),
            Place(r"body\.(source|sink) kconnect\.connectors\..*", r"\(absent\)"),
        ),
    ),
    Known(
        "odd-paths",
        "odd paths: two slashes, `%2F`, `%25`, control characters, `;…`, an encoded letter of a resource's name",
        r"http: (encoded slash|two slashes|slash within|percent-encoded path|percent-encoded name|semicolon)"
        r"|put: control character in the name|create: slash in the name",
        (
            *(Place(r"status", "[24]..", "[24].."), Place(r"headers\.Content-Type"), Place("body.*")),
            Place(r"headers\.Location", '".*/slash"', '".*%2Fslash"'),
        ),
    ),
    Known(
        "allow",
        "405",
        r".*",
        (Place(r"headers\.Allow", r"\(absent\)", '"[A-Z,]+"'),),
    ),
    Known(
        "not-acceptable",
        "`Accept: application/json;q=0`",
        r"http: accepts json with q=0",
        (Place("status", "200", "406"), Place(r"headers\.Content-Type"), Place("body.*")),
    ),
    Known(
        "no-class",
        "the message for a config without `connector.class`",
        r"(create|put): (empty config|no class|null class|empty class)|change: patch away the class",
        (Place(r"body\.message", '"(Connector config {|Failed to find any class).*', '".*contains no connector type.*'),),
    ),
    Known(
        "plugin-lists",
        "messages that list the installed connectors",
        r"(create|put): (unknown class|a transform as its class)",
        (Place(r"body\.message", ".*PluginDesc{.*", '"Failed to find any class .*, available connectors are: kconnect.*'),),
    ),
    Known(
        "null",
        "a null for one of the connector's own settings",
        r"create: null for (a required|another) setting",
        (
            Place("status", "201", "400"),
            Place(_OF_AN_ANSWER, ours=r"\(absent\)"),
            Place(r"body\.(error_code|message)", r"\(absent\)"),
        ),
    ),
    Known(
        "null-deleted",
        "a null for one of the connector's own settings",
        r"create: null for (a required|another) setting, delete",
        (Place("status", "204", "404"), Place(r"headers\.Content-Type", r"\(absent\)"), Place("body", "null")),
    ),
    Known(
        "null-validated",
        "a null for one of the connector's own settings",
        r"validate: (topic|file|batch size) is null",
        (
            Place(r"body\.error_count", "0", "1"),
            Place(r"body\.configs\.(topic|file|batch\.size)\.value\.errors", r"\[\]", ".*Null value can not.*"),
        ),
    ),
    Known(
        "null-records",
        "a null for one of the connector's own settings",
        r"records: (config|status) topic",
        (Place(r'"(connector|status-connector|target-state)-<n>-null2?".*'),),
    ),
    Known(
        "stopped-task",
        "restart of a task that a connector had before it was stopped",
        r"states: restart a stopped one's task",
        answered(409, 404, '"Cannot complete request momentarily.*', '"Unknown task: .*'),
    ),
    Known(
        "java-classes",
        "abstract classes and interfaces as a plugin",
        r"plugin config: org\.apache\.kafka\.connect\.transforms\.Cast",
        answered(500, 404, '"Instantiation error"', '"Unknown plugin .*'),
    ),
    Known(
        "java-interfaces",
        "abstract classes and interfaces as a plugin",
        r"validate: converters: an interface",
        (
            Place(r"body\.configs\.value\.converter\.value\.value", ours="null"),
            Place(r"body\.configs\.value\.converter\.value\.errors\[0\]", '"This class is abstract.*', ".* not be found.*"),
            Place(r"body\.configs\.value\.converter\.plugin\.version\.value\.visible", "true", "false"),
        ),
    ),
    Known(
        "restart-records",
        "`POST /connectors/{c}/restart` without parameters",
        r"records: config topic",
        (Place(r'"restart-connector-.*'),),
    ),
    Known(
        "unknown-topic",
        "altering a sink's offsets for a topic that does not exist",
        r"sink offsets: unknown topic",
        (Place(r"body\.message", '"Failed to alter .*', '"Failed to alter .*: there is no topic .*'),),
    ),
    Known(
        "unsigned",
        "a malformed request between workers that is not signed",
        r"internal: tasks, unsigned, no json",
        answered(500, 400, '"Unrecognized token.*', '"Internal request missing required signature"'),
    ),
)
