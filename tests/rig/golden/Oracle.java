import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.text.ParsePosition;
import java.text.SimpleDateFormat;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaProjector;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.data.Values;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Answers golden cases with Connect's own classes. Started by oracle.py as a source file, with Connect's jars as class path.
 *
 * <p>Reads a case a line, of the format that its member `format` names and without any results, and writes it back with them.
 * A case that can't be given to Connect at all comes back with `impossible`, and why.
 */
public class Oracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    /** For schemas alone: values never go through it. */
    private static final JsonConverter SCHEMAS = new JsonConverter();

    public static void main(String[] args) throws Exception {
        // Half of a pair of surrogates is no UTF-8.
        JSON.getFactory().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
        SCHEMAS.configure(Map.of("schemas.enable", "true", "replace.null.with.default", "false"), false);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answered = (ObjectNode) JSON.readTree(line);
            try {
                answer(answered.remove("format").asText(), answered);
            } catch (Exception | LinkageError | StackOverflowError e) {
                answered.put("impossible", e.toString());
            }
            out.print(JSON.writeValueAsString(answered));
            out.print('\n');
            out.flush();
        }
    }

    private static void answer(String format, ObjectNode one) throws Exception {
        switch (format) {
            case "transforms":
                transform(one);
                break;
            case "predicates":
                predicate(one);
                break;
            case "chains":
                chain(one);
                break;
            case "converters":
                converter(one);
                break;
            case "converter_sequences":
                sequence(one);
                break;
            case "header_converters":
                headerConverter(one);
                break;
            case "values":
                parse(one);
                break;
            case "values_convert":
                convert(one);
                break;
            case "projector":
                project(one);
                break;
            case "validate":
                validate(one);
                break;
            case "java_regex":
                regex(one);
                break;
            case "simple_date_format":
                dateFormat(one);
                break;
            case "entities":
                entity(one);
                break;
            default:
                throw new IllegalArgumentException("No such format: " + format);
        }
    }

    /** What Connect threw, and in which phase. */
    private static class Thrown extends Exception {
        final String phase;

        Thrown(String phase, Throwable cause) {
            super(cause);
            this.phase = phase;
        }
    }

    private interface Call<T> {
        T run() throws Exception;
    }

    private static <T> T in(String phase, Call<T> call) throws Thrown {
        try {
            return call.run();
        } catch (InvocationTargetException e) {
            throw new Thrown(phase, e.getCause());
        } catch (Exception | StackOverflowError e) {
            throw new Thrown(phase, e);
        }
    }

    // --- the formats ---

    /** An answer of REST, read as Connect's own clients do it: what its class has not is an error. */
    private static void entity(ObjectNode one) throws Exception {
        JavaType of =
                JSON.getTypeFactory().constructFromCanonical(one.get("class").asText());
        try {
            one.set("out", JSON.valueToTree(JSON.readValue(one.get("body").toString(), of)));
        } catch (JsonProcessingException e) {
            one.put("error", e.getOriginalMessage());
        }
    }

    /** A transform with its predicate, as a task's chain has it. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    private static class Step {
        final Transformation transform;
        Predicate predicate;
        boolean negate;

        Step(JsonNode of) throws Exception {
            transform = (Transformation) made(of.get("class").asText());
            Map<String, String> config = config(of.get("config"));
            in("configure", () -> {
                transform.configure(config);
                return null;
            });
            JsonNode asked = of.get("predicate");
            if (asked == null || asked.isNull()) return;
            predicate = (Predicate) made(asked.get("class").asText());
            negate = asked.get("negate").asBoolean();
            Map<String, String> itsConfig = config(asked.get("config"));
            in("configure", () -> {
                predicate.configure(itsConfig);
                return null;
            });
        }

        ConnectRecord apply(ConnectRecord record) throws Thrown {
            boolean takes = predicate == null || in("test", () -> predicate.test(record)) != negate;
            return takes ? in("apply", () -> transform.apply(record)) : record;
        }
    }

    private static void transform(ObjectNode one) throws Exception {
        one.putNull("out").putNull("error");
        try {
            Step step = new Step(one);
            one.set("out", written(step.apply(record(one.get("kind").asText(), one.get("in")))));
        } catch (Thrown e) {
            failed(one, e);
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void predicate(ObjectNode one) throws Exception {
        one.putNull("result").putNull("error");
        Predicate predicate = (Predicate) made(one.get("class").asText());
        try {
            in("configure", () -> {
                predicate.configure(config(one.get("config")));
                return null;
            });
            ConnectRecord record = record(one.get("kind").asText(), one.get("in"));
            one.put("result", in("test", () -> predicate.test(record)));
        } catch (Thrown e) {
            failed(one, e);
        }
    }

    private static void failed(ObjectNode one, Thrown e) throws Exception {
        one.set("error", error(e));
        if (!e.phase.equals("configure")) return;
        ObjectNode messages = NODES.objectNode();
        try {
            validate(one, messages);
            if (one.hasNonNull("predicate")) validate(one.get("predicate"), messages);
        } catch (RuntimeException broken) {
            // A validator that throws gives no messages.
            return;
        }
        one.set("validation", messages);
    }

    private static void validate(JsonNode of, ObjectNode messages) throws Exception {
        Object plugin = made(of.get("class").asText());
        ConfigDef settings =
                plugin instanceof Predicate ? ((Predicate<?>) plugin).config() : ((Transformation<?>) plugin).config();
        for (ConfigValue value : settings.validate(config(of.get("config")))) {
            if (value.errorMessages().isEmpty()) continue;
            ArrayNode list = messages.putArray(value.name());
            value.errorMessages().forEach(list::add);
        }
    }

    private static void chain(ObjectNode one) throws Exception {
        List<Step> steps = new ArrayList<>();
        for (JsonNode step : one.get("steps")) steps.add(new Step(step));
        ArrayNode outs = one.putArray("outs");
        for (JsonNode in : one.get("ins")) {
            ObjectNode result = outs.addObject().putNull("out").putNull("error").putNull("stopped_at");
            ConnectRecord<?> record = record(one.get("kind").asText(), in);
            for (int i = 0; i < steps.size() && record != null; i++) {
                try {
                    record = steps.get(i).apply(record);
                } catch (Thrown e) {
                    record = null;
                    result.set("error", error(e));
                }
                if (record == null) result.put("stopped_at", i);
            }
            result.set("out", written(record));
        }
    }

    private static void converter(ObjectNode one) throws Exception {
        Converter converter = (Converter) made(one.get("converter").asText());
        try {
            in("configure", () -> {
                converter.configure(config(one.get("config")), one.get("isKey").asBoolean());
                return null;
            });
        } catch (Thrown e) {
            if (one.get("direction").asText().equals("toConnectData")) one.putNull("out");
            else one.putNull("bytes_base64");
            one.set("error", error(e));
            return;
        }
        convertOnce(converter, one.get("topic").asText(), one, one);
    }

    private static void sequence(ObjectNode one) throws Exception {
        Converter converter = (Converter) made(one.get("converter").asText());
        converter.configure(config(one.get("config")), one.get("isKey").asBoolean());
        ArrayNode results = one.putArray("results");
        for (JsonNode step : one.get("steps"))
            convertOnce(converter, one.get("topic").asText(), step, results.addObject());
    }

    private static void convertOnce(Converter converter, String topic, JsonNode step, ObjectNode result)
            throws Exception {
        result.putNull("error");
        String direction = step.get("direction").asText();
        if (direction.equals("fromConnectData")) {
            result.putNull("bytes_base64");
            SchemaAndValue data = data(step.get("in"));
            try {
                result.put(
                        "bytes_base64",
                        base64(in(direction, () -> converter.fromConnectData(topic, data.schema(), data.value()))));
            } catch (Thrown e) {
                result.set("error", error(e));
            }
        } else {
            result.putNull("out");
            byte[] bytes = bytes(step.get("bytes_base64"));
            try {
                result.set("out", written(in(direction, () -> converter.toConnectData(topic, bytes))));
            } catch (Thrown e) {
                result.set("error", error(e));
            }
        }
    }

    private static void headerConverter(ObjectNode one) throws Exception {
        one.putNull("error");
        HeaderConverter converter = (HeaderConverter) made(one.get("converter").asText());
        String direction = one.get("direction").asText();
        String topic = one.get("topic").asText();
        String header = one.get("header").asText();
        boolean from = direction.equals("fromConnectHeader");
        if (from) one.putNull("bytes_base64");
        else one.putNull("out");
        try {
            Map<String, String> config = config(one.get("config"));
            config.put("converter.type", "header");
            in("configure", () -> {
                converter.configure(config);
                return null;
            });
            if (from) {
                SchemaAndValue data = data(one.get("in"));
                one.put(
                        "bytes_base64",
                        base64(in(
                                direction,
                                () -> converter.fromConnectHeader(topic, header, data.schema(), data.value()))));
            } else {
                byte[] bytes = bytes(one.get("bytes_base64"));
                SchemaAndValue found = in(direction, () -> converter.toConnectHeader(topic, header, bytes));
                if (found == null) one.put("java_null", true);
                else one.set("out", written(found));
            }
        } catch (Thrown e) {
            one.set("error", error(e));
        }
    }

    private static void parse(ObjectNode one) throws Exception {
        one.putNull("schema_type")
                .putNull("schema_name")
                .putNull("schema")
                .putNull("value_json")
                .putNull("to_string")
                .putNull("error");
        try {
            SchemaAndValue found =
                    in("parse", () -> Values.parseString(one.get("text").textValue()));
            if (found == null) {
                one.put("java_null", true);
                return;
            }
            Schema schema = found.schema();
            JsonNode envelope = written(found);
            if (schema != null) one.put("schema_type", schema.type().name()).put("schema_name", schema.name());
            one.set("schema", envelope.get("schema"));
            one.set("value_json", envelope.get("payload"));
            if (envelope.has("types")) one.set("types", envelope.get("types"));
            one.put("to_string", in("convertToString", () -> Values.convertToString(schema, found.value())));
        } catch (Thrown e) {
            one.set("error", error(e));
        }
    }

    private static void convert(ObjectNode one) throws Exception {
        one.putNull("out").putNull("error");
        SchemaAndValue data = data(one.get("in"));
        String name = one.get("function").asText();
        try {
            Object found;
            if (one.has("scale")) {
                Method method = Values.class.getMethod(name, Schema.class, Object.class, int.class);
                found = in(
                        "convert",
                        () -> method.invoke(
                                null,
                                data.schema(),
                                data.value(),
                                one.get("scale").asInt()));
            } else {
                Method method = Values.class.getMethod(name, Schema.class, Object.class);
                found = in("convert", () -> method.invoke(null, data.schema(), data.value()));
            }
            one.set("out", envelope(null, found));
        } catch (Thrown e) {
            one.set("error", error(e));
        }
    }

    private static void project(ObjectNode one) throws Exception {
        one.putNull("out").putNull("error");
        SchemaAndValue data = data(one.get("in"));
        Schema target = SCHEMAS.asConnectSchema(one.get("target"));
        try {
            one.set(
                    "out",
                    envelope(
                            target, in("project", () -> SchemaProjector.project(data.schema(), data.value(), target))));
        } catch (Thrown e) {
            ObjectNode error = error(e);
            if (e.getCause().getCause() != null) {
                ObjectNode cause = error(new Thrown("", e.getCause().getCause()));
                cause.remove("phase");
                error.set("cause", cause);
            }
            one.set("error", error);
        }
    }

    private static void validate(ObjectNode one) throws Exception {
        one.putNull("error");
        SchemaAndValue data = data(one.get("in"));
        try {
            Schema schema = in("build", () -> SCHEMAS.asConnectSchema(one.get("schema")));
            in("validate", () -> {
                if (one.hasNonNull("field"))
                    ConnectSchema.validateValue(one.get("field").asText(), schema, data.value());
                else ConnectSchema.validateValue(schema, data.value());
                return null;
            });
        } catch (Thrown e) {
            one.set("error", error(e));
        }
        one.put("valid", one.get("error").isNull());
    }

    private static void regex(ObjectNode one) throws Exception {
        one.putNull("error").putNull("result").putNull("full_match");
        String input = one.get("input").asText();
        try {
            Pattern pattern =
                    in("compile", () -> Pattern.compile(one.get("pattern").asText()));
            Matcher matcher = pattern.matcher(input);
            boolean matches = in("match", matcher::matches);
            one.put("full_match", matches);
            one.put("result", input);
            if (!matches) return;
            ArrayNode groups = one.putArray("groups");
            for (int i = 1; i <= matcher.groupCount(); i++) groups.add(matcher.group(i));
            one.putNull("result");
            one.put(
                    "result",
                    in(
                            "apply",
                            () -> matcher.replaceFirst(one.get("replacement").asText())));
        } catch (Thrown e) {
            one.set("error", error(e));
        }
    }

    private static void dateFormat(ObjectNode one) throws Exception {
        one.putNull("error");
        String result = one.get("kind").asText().equals("format") ? "text" : "millis";
        one.putNull(result);
        try {
            SimpleDateFormat format =
                    in("compile", () -> new SimpleDateFormat(one.get("pattern").asText()));
            if (result.equals("text")) {
                one.put(
                        "text",
                        in(
                                "format",
                                () -> format.format(new Date(one.get("millis").asLong()))));
            } else {
                one.putNull("parsed_chars");
                String text = one.get("text").asText();
                one.put("millis", in("parse", () -> format.parse(text)).getTime());
                ParsePosition position = new ParsePosition(0);
                new SimpleDateFormat(one.get("pattern").asText()).parse(text, position);
                one.put("parsed_chars", position.getIndex());
            }
        } catch (Thrown e) {
            one.set("error", error(e));
        }
    }

    private static ObjectNode error(Thrown thrown) {
        Throwable e = thrown.getCause();
        String message = e.getMessage() == null ? null : e.getMessage().replaceAll("@[0-9a-f]+", "@HASH");
        return NODES.objectNode()
                .put("phase", thrown.phase)
                .put("class", e.getClass().getName())
                .put("message", message);
    }

    private static Object made(String name) throws ReflectiveOperationException {
        return Class.forName(name).getConstructor().newInstance();
    }

    private static Map<String, String> config(JsonNode of) {
        Map<String, String> config = new LinkedHashMap<>();
        of.fields()
                .forEachRemaining(
                        entry -> config.put(entry.getKey(), entry.getValue().textValue()));
        return config;
    }

    private static byte[] bytes(JsonNode base64) {
        return base64 == null || base64.isNull() ? null : Base64.getDecoder().decode(base64.asText());
    }

    private static String base64(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    // --- records ---

    private static ConnectRecord<?> record(String kind, JsonNode of) throws Exception {
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : of.get("headers")) headers.add(header.get("name").asText(), data(header.get("value")));
        SchemaAndValue key = data(of.get("key"));
        SchemaAndValue value = data(of.get("value"));
        String topic = of.get("topic").textValue();
        Integer partition = of.get("partition").isNull()
                ? null
                : (Integer) of.get("partition").asInt();
        Long timestamp =
                of.get("timestamp").isNull() ? null : (Long) of.get("timestamp").asLong();
        if (kind.equals("source")) {
            return new SourceRecord(
                    Map.of("p", 1),
                    Map.of("o", 1),
                    topic,
                    partition,
                    key.schema(),
                    key.value(),
                    value.schema(),
                    value.value(),
                    timestamp,
                    headers);
        }
        TimestampType type = timestamp == null ? TimestampType.NO_TIMESTAMP_TYPE : TimestampType.CREATE_TIME;
        return new SinkRecord(
                topic,
                partition,
                key.schema(),
                key.value(),
                value.schema(),
                value.value(),
                of.get("offset").asLong(),
                timestamp,
                type,
                headers);
    }

    private static JsonNode written(ConnectRecord<?> record) {
        if (record == null) return NODES.nullNode();
        ObjectNode of = NODES.objectNode();
        of.put("topic", record.topic())
                .put("partition", record.kafkaPartition())
                .put("timestamp", record.timestamp());
        of.set("key", envelope(record.keySchema(), record.key()));
        of.set("value", envelope(record.valueSchema(), record.value()));
        ArrayNode headers = of.putArray("headers");
        for (Header header : record.headers()) {
            headers.addObject().put("name", header.key()).set("value", envelope(header.schema(), header.value()));
        }
        if (record instanceof SinkRecord) {
            SinkRecord sink = (SinkRecord) record;
            of.put("offset", sink.kafkaOffset());
            of.putObject("original")
                    .put("topic", sink.originalTopic())
                    .put("partition", sink.originalKafkaPartition())
                    .put("offset", sink.originalKafkaOffset());
        }
        return of;
    }

    // --- reading envelopes ---

    private static SchemaAndValue data(JsonNode envelope) throws Exception {
        Schema schema = SCHEMAS.asConnectSchema(envelope.get("schema"));
        return new SchemaAndValue(schema, value(schema, envelope.get("payload"), envelope.get("types")));
    }

    private static Object value(Schema schema, JsonNode payload, JsonNode types) throws Exception {
        if (payload == null || payload.isNull()) return null;
        if (schema == null || (types != null && types.isTextual())) return free(payload, types);
        String name = schema.name() == null ? "" : schema.name();
        switch (name) {
            case Decimal.LOGICAL_NAME:
                return new BigDecimal(new BigInteger(bytes(payload)), scale(schema));
            case org.apache.kafka.connect.data.Date.LOGICAL_NAME:
                return new Date(payload.asLong() * 86_400_000L);
            case Time.LOGICAL_NAME:
            case Timestamp.LOGICAL_NAME:
                return new Date(payload.asLong());
            default:
                break;
        }
        switch (schema.type()) {
            case INT8:
                return (byte) payload.asInt();
            case INT16:
                return (short) payload.asInt();
            case INT32:
                return payload.asInt();
            case INT64:
                return payload.asLong();
            case FLOAT32:
                return (float) number(payload);
            case FLOAT64:
                return number(payload);
            case BOOLEAN:
                return payload.asBoolean();
            case STRING:
                return payload.asText();
            case BYTES:
                return bytes(payload);
            case ARRAY:
                return list(schema.valueSchema(), payload, types);
            case MAP:
                return map(schema.keySchema(), schema.valueSchema(), payload, types);
            default:
                return struct(schema, payload, types);
        }
    }

    private static Object free(JsonNode payload, JsonNode types) throws Exception {
        if (payload.isArray()) return list(null, payload, types);
        if (payload.isObject()) return map(null, null, payload, types);
        String type = types == null || types.isNull() ? "" : types.asText();
        switch (type) {
            case "int8":
                return (byte) payload.asInt();
            case "int16":
                return (short) payload.asInt();
            case "int32":
                return payload.asInt();
            case "float32":
                return (float) number(payload);
            case "float64":
                return number(payload);
            case "bytes":
                return bytes(payload);
            case "bytebuffer":
                return ByteBuffer.wrap(bytes(payload));
            case "decimal":
                return new BigDecimal(payload.asText());
            case "bigint":
                return new BigInteger(payload.asText());
            case "date":
                return new Date(payload.asLong());
            case "":
            case "int64":
            case "boolean":
            case "string":
                break;
            default:
                throw new IllegalArgumentException("No value of such a type: " + type);
        }
        if (payload.isBoolean()) return payload.asBoolean();
        if (payload.isTextual()) return payload.asText();
        return payload.isIntegralNumber() ? (Object) payload.asLong() : (Object) number(payload);
    }

    /** A number has no negative zero here, only the text `-0.0`: so did what made the files read them. */
    private static double number(JsonNode payload) {
        if (payload.isTextual()) return Double.parseDouble(payload.asText());
        double number = payload.asDouble();
        return number == 0 ? 0.0 : number;
    }

    private static List<Object> list(Schema element, JsonNode payload, JsonNode types) throws Exception {
        List<Object> list = new ArrayList<>();
        for (int i = 0; i < payload.size(); i++)
            list.add(value(element, payload.get(i), types == null ? null : types.get(i)));
        return list;
    }

    private static Map<Object, Object> map(Schema key, Schema element, JsonNode payload, JsonNode types)
            throws Exception {
        Map<Object, Object> map = new HashMap<>();
        if (payload.isArray()) {
            for (JsonNode pair : payload) map.put(value(key, pair.get(0), null), value(element, pair.get(1), null));
            return map;
        }
        for (Map.Entry<String, JsonNode> entry : payload.properties()) {
            map.put(entry.getKey(), value(element, entry.getValue(), types == null ? null : types.get(entry.getKey())));
        }
        return map;
    }

    /** Its values are set without being checked, for a required field may be unset, and a value may not fit its schema. */
    private static Struct struct(Schema schema, JsonNode payload, JsonNode types) throws Exception {
        Struct struct = new Struct(schema);
        java.lang.reflect.Field inside = Struct.class.getDeclaredField("values");
        inside.setAccessible(true);
        Object[] values = (Object[]) inside.get(struct);
        for (Field field : schema.fields()) {
            values[field.index()] =
                    value(field.schema(), payload.get(field.name()), types == null ? null : types.get(field.name()));
        }
        return struct;
    }

    private static int scale(Schema schema) {
        return Integer.parseInt(schema.parameters().get(Decimal.SCALE_FIELD));
    }

    // --- writing envelopes ---

    /** A payload, and its types where it alone does not tell them. */
    private static class Written {
        final JsonNode payload;
        final JsonNode types;

        Written(JsonNode payload, JsonNode types) {
            this.payload = payload;
            this.types = types;
        }
    }

    private static JsonNode written(SchemaAndValue data) {
        return data == null ? NODES.nullNode() : envelope(data.schema(), data.value());
    }

    private static ObjectNode envelope(Schema schema, Object value) {
        ObjectNode envelope = NODES.objectNode();
        try {
            envelope.set(
                    "schema",
                    schema == null
                            ? NODES.nullNode()
                            : SCHEMAS.asJsonSchema(schema).deepCopy());
        } catch (RuntimeException e) {
            envelope.putNull("schema").put("schema_error", e.toString());
        }
        Written written = write(schema, value);
        envelope.set("payload", written.payload);
        if (written.types != null) envelope.set("types", written.types);
        return envelope;
    }

    private static Written write(Schema schema, Object value) {
        if (value == null) return new Written(NODES.nullNode(), null);
        if (schema == null || !fits(schema, value)) return writeFree(value, schema != null);
        if (value instanceof BigDecimal) {
            return new Written(
                    NODES.textNode(base64(((BigDecimal) value).unscaledValue().toByteArray())), null);
        }
        if (value instanceof Date) {
            boolean days = org.apache.kafka.connect.data.Date.LOGICAL_NAME.equals(schema.name());
            return new Written(NODES.numberNode(((Date) value).getTime() / (days ? 86_400_000L : 1)), null);
        }
        switch (schema.type()) {
            case ARRAY:
                return writeList(schema.valueSchema(), (List<?>) value);
            case MAP:
                return writeMap(true, schema.keySchema(), schema.valueSchema(), (Map<?, ?>) value);
            case STRUCT:
                return writeStruct((Struct) value);
            default:
                return new Written(plain(value), null);
        }
    }

    /** Whether schema and payload tell what the value is. */
    private static boolean fits(Schema schema, Object value) {
        String name = schema.name() == null ? "" : schema.name();
        switch (name) {
            case Decimal.LOGICAL_NAME:
                return schema.type() == Schema.Type.BYTES
                        && value instanceof BigDecimal
                        && schema.parameters() != null
                        && String.valueOf(((BigDecimal) value).scale())
                                .equals(schema.parameters().get(Decimal.SCALE_FIELD));
            case org.apache.kafka.connect.data.Date.LOGICAL_NAME:
                return schema.type() == Schema.Type.INT32
                        && value instanceof Date
                        && ((Date) value).getTime() % 86_400_000L == 0;
            case Time.LOGICAL_NAME:
                return schema.type() == Schema.Type.INT32
                        && value instanceof Date
                        && ((Date) value).getTime() >= 0
                        && ((Date) value).getTime() <= 86_400_000L;
            case Timestamp.LOGICAL_NAME:
                return schema.type() == Schema.Type.INT64 && value instanceof Date;
            default:
                break;
        }
        switch (schema.type()) {
            case INT8:
                return value instanceof Byte;
            case INT16:
                return value instanceof Short;
            case INT32:
                return value instanceof Integer;
            case INT64:
                return value instanceof Long;
            case FLOAT32:
                return value instanceof Float;
            case FLOAT64:
                return value instanceof Double;
            case BOOLEAN:
                return value instanceof Boolean;
            case STRING:
                return value instanceof String;
            case BYTES:
                return value instanceof byte[] || value instanceof ByteBuffer;
            case ARRAY:
                return value instanceof List;
            case MAP:
                return value instanceof Map;
            default:
                return value instanceof Struct;
        }
    }

    /** `told`: always say the class, because there is a schema that says another. */
    private static Written writeFree(Object value, boolean told) {
        if (value instanceof List) {
            Written list = writeList(null, (List<?>) value);
            return list.types == null && told ? new Written(list.payload, NODES.textNode("array")) : list;
        }
        if (value instanceof Map) {
            Written map = writeMap(false, null, null, (Map<?, ?>) value);
            return map.types == null && told ? new Written(map.payload, NODES.textNode("map")) : map;
        }
        if (value instanceof Struct) return new Written(writeStruct((Struct) value).payload, NODES.textNode("struct"));
        JsonNode payload = plain(value);
        String type = type(value);
        boolean obvious = type.equals("int64")
                || type.equals("boolean")
                || type.equals("string")
                || (type.equals("float64") && payload.isNumber());
        return new Written(payload, obvious && !told ? null : NODES.textNode(type));
    }

    private static Written writeList(Schema element, List<?> list) {
        ArrayNode payload = NODES.arrayNode();
        ArrayNode types = NODES.arrayNode();
        boolean any = false;
        for (Object item : list) {
            Written written = write(element, item);
            payload.add(written.payload);
            types.add(written.types == null ? NODES.nullNode() : written.types);
            any |= written.types != null;
        }
        return new Written(payload, any ? types : null);
    }

    private static Written writeMap(boolean typed, Schema key, Schema element, Map<?, ?> map) {
        // What is said to be a map of no known keys, and is empty, has no names to show.
        boolean texts = key == null ? !typed || !map.isEmpty() : key.type() == Schema.Type.STRING;
        for (Object name : map.keySet()) texts &= name instanceof String;
        ObjectNode byName = NODES.objectNode();
        ObjectNode typesByName = NODES.objectNode();
        ArrayNode pairs = NODES.arrayNode();
        ArrayNode typesOfPairs = NODES.arrayNode();
        map.forEach((name, item) -> {
            Written written = write(element, item);
            Written writtenName = write(key, name);
            pairs.addArray().add(writtenName.payload).add(written.payload);
            if (writtenName.types != null || written.types != null)
                typesOfPairs.addArray().add(writtenName.types).add(written.types);
            else typesOfPairs.addNull();
            byName.set(String.valueOf(name), written.payload);
            if (written.types != null) typesByName.set(String.valueOf(name), written.types);
        });
        if (texts) return new Written(byName, typesByName.isEmpty() ? null : typesByName);
        if (!typed) return new Written(pairs, NODES.textNode("map"));
        for (JsonNode types : typesOfPairs) {
            if (!types.isNull()) return new Written(pairs, typesOfPairs);
        }
        return new Written(pairs, null);
    }

    private static Written writeStruct(Struct struct) {
        ObjectNode payload = NODES.objectNode();
        ObjectNode types = NODES.objectNode();
        for (Field field : struct.schema().fields()) {
            Written written = write(field.schema(), struct.getWithoutDefault(field.name()));
            payload.set(field.name(), written.payload);
            if (written.types != null) types.set(field.name(), written.types);
        }
        return new Written(payload, types.isEmpty() ? null : types);
    }

    private static JsonNode plain(Object value) {
        if (value instanceof Byte || value instanceof Short || value instanceof Integer)
            return NODES.numberNode(((Number) value).intValue());
        if (value instanceof Long) return NODES.numberNode((Long) value);
        if (value instanceof Float) {
            float number = (Float) value;
            return Float.isFinite(number) ? NODES.numberNode(number) : NODES.textNode(value.toString());
        }
        if (value instanceof Double) {
            double number = (Double) value;
            return Double.isFinite(number) ? NODES.numberNode(number) : NODES.textNode(value.toString());
        }
        if (value instanceof Boolean) return NODES.booleanNode((Boolean) value);
        if (value instanceof byte[]) return NODES.textNode(base64((byte[]) value));
        if (value instanceof ByteBuffer) {
            ByteBuffer buffer = ((ByteBuffer) value).duplicate();
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            return NODES.textNode(base64(bytes));
        }
        if (value instanceof Date) return NODES.numberNode(((Date) value).getTime());
        return NODES.textNode(value.toString());
    }

    private static String type(Object value) {
        if (value instanceof Byte) return "int8";
        if (value instanceof Short) return "int16";
        if (value instanceof Integer) return "int32";
        if (value instanceof Long) return "int64";
        if (value instanceof Float) return "float32";
        if (value instanceof Double) return "float64";
        if (value instanceof Boolean) return "boolean";
        if (value instanceof String) return "string";
        if (value instanceof byte[]) return "bytes";
        if (value instanceof ByteBuffer) return "bytebuffer";
        if (value instanceof BigDecimal) return "decimal";
        if (value instanceof BigInteger) return "bigint";
        if (value instanceof Date) return "date";
        return value.getClass().getName();
    }
}
