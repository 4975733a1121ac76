package kconnect.shim;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.Date;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.Header;

/** Which record of a batch can't cross to Python, and what of it: asked once writing them has failed. */
final class Misfit {
    private static final int DEEP = 200;

    private Misfit() {}

    /** `numbers` are those by which the records are known. */
    static DataException among(ConnectRecord[] records, int[] numbers, Throwable error) {
        for (int at = 0; at < records.length; at++) {
            ConnectRecord record = records[at];
            String found = of(record.keySchema(), record.key(), "key", 0);
            if (found == null) {
                found = of(record.valueSchema(), record.value(), "value", 0);
            }
            for (Object each : record.headers()) {
                Header header = (Header) each;
                found = found != null ? found : of(header.schema(), header.value(), "header " + header.key(), 0);
            }
            if (found != null) {
                String which = records.length == 1 ? "The record" : "Record " + numbers[at] + " of the batch";
                return new DataException(which + " can't go from Java to Python: " + found, error);
            }
        }
        String which = records.length == 1 ? "The record" : "A batch of records";
        return new DataException(which + " can't go from Java to Python: " + error, error);
    }

    private static String of(Schema schema, Object value, String path, int depth) {
        if (value == null) {
            return null;
        }
        if (depth > DEEP) {
            return path + " is nested too deeply";
        }
        int kind = schema == null ? Kinds.ofValue(value) : Kinds.of(schema);
        if (kind == Kinds.NONE || !fits(kind, value)) {
            String wanted = schema == null
                    ? "is no data of Connect's"
                    : "is no " + (schema.name() == null ? "" : schema.name() + " of ") + schema.type();
            return path + ": " + value.getClass().getName() + " " + wanted;
        }
        if (kind == Kinds.ARRAY) {
            int at = 0;
            for (Object each : (List) value) {
                String found =
                        of(schema == null ? null : schema.valueSchema(), each, path + "[" + at++ + "]", depth + 1);
                if (found != null) {
                    return found;
                }
            }
        } else if (kind == Kinds.MAP) {
            return ofMap(schema, (Map) value, path, depth);
        } else if (kind == Kinds.STRUCT) {
            return ofStruct(schema, (Struct) value, path, depth);
        }
        return null;
    }

    private static String ofMap(Schema schema, Map map, String path, int depth) {
        int at = 0;
        for (Object each : map.entrySet()) {
            Object key = ((Map.Entry) each).getKey();
            String own = schema == null && key instanceof String ? path + "." + key : path + "{" + at + "}";
            at++;
            if (key instanceof List || key instanceof Map) {
                return own + ": " + key.getClass().getName() + " can't be the key of a dict";
            }
            String found = of(schema == null ? null : schema.keySchema(), key, "the key of " + own, depth + 1);
            if (found == null) {
                found = of(schema == null ? null : schema.valueSchema(), ((Map.Entry) each).getValue(), own, depth + 1);
            }
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    private static String ofStruct(Schema schema, Struct struct, String path, int depth) {
        if (schema != null && struct.schema() != schema && !struct.schema().equals(schema)) {
            return path + ": the struct has another schema";
        }
        for (Object each : struct.schema().fields()) {
            Field field = (Field) each;
            String found =
                    of(field.schema(), struct.getWithoutDefault(field.name()), path + "." + field.name(), depth + 1);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    private static boolean fits(int kind, Object value) {
        switch (kind) {
            case Kinds.BYTES:
                return value instanceof byte[] || value instanceof ByteBuffer;
            case Kinds.DECIMAL:
                return value instanceof BigDecimal;
            case Kinds.DATE:
                return value instanceof Date;
            default:
                return Kinds.ofValue(value) == kind;
        }
    }
}
