package kconnect.shim;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.Date;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;

/** The kinds of columns: those of `Schema.Type` by their ordinals, and three more. */
final class Kinds {
    static final int INT8 = 0;
    static final int INT16 = 1;
    static final int INT32 = 2;
    static final int INT64 = 3;
    static final int FLOAT32 = 4;
    static final int FLOAT64 = 5;
    static final int BOOLEAN = 6;
    static final int STRING = 7;
    static final int BYTES = 8;
    static final int ARRAY = 9;
    static final int MAP = 10;
    static final int STRUCT = 11;
    static final int DECIMAL = 12;
    static final int DATE = 13;
    /** Of values without a schema, which each have a kind of their own. */
    static final int FREE = 14;

    static final int NONE = -1;

    private Kinds() {}

    /** A logical schema is known by its name, as Connect's own checks know it. */
    static int of(Schema schema) {
        if (schema == null) {
            return FREE;
        }
        String name = schema.name();
        if (name != null) {
            if (name.equals(Decimal.LOGICAL_NAME)) {
                return DECIMAL;
            }
            if (name.equals(org.apache.kafka.connect.data.Date.LOGICAL_NAME)
                    || name.equals(Time.LOGICAL_NAME)
                    || name.equals(Timestamp.LOGICAL_NAME)) {
                return DATE;
            }
        }
        return schema.type().ordinal();
    }

    /** Of a value without a schema; NONE for what is no data of Connect's. */
    static int ofValue(Object value) {
        if (value instanceof String) {
            return STRING;
        }
        if (value instanceof Long) {
            return INT64;
        }
        if (value instanceof Integer) {
            return INT32;
        }
        if (value instanceof Double) {
            return FLOAT64;
        }
        if (value instanceof Boolean) {
            return BOOLEAN;
        }
        if (value instanceof Map) {
            return MAP;
        }
        if (value instanceof List) {
            return ARRAY;
        }
        if (value instanceof Struct) {
            return STRUCT;
        }
        if (value instanceof byte[] || value instanceof ByteBuffer) {
            return BYTES;
        }
        if (value instanceof Float) {
            return FLOAT32;
        }
        if (value instanceof Short) {
            return INT16;
        }
        if (value instanceof Byte) {
            return INT8;
        }
        if (value instanceof BigDecimal) {
            return DECIMAL;
        }
        return value instanceof Date ? DATE : NONE;
    }
}
