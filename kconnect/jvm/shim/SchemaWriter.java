package kconnect.shim;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;

/**
 * The schemas that Python was told of, by number. Each is described once, behind those that it is made of, until there are too
 * many: then the numbers begin anew, which Python sees by the number of schemas before a batch. A description:
 *
 *   byte type, byte optional; text name, doc; byte has a version, int version; int parameters, each two texts;
 *   an array's element, a map's key and value: their numbers or -1; a struct's int fields, each a text and a number;
 *   byte has a default, which is a column of one value, for a struct one without a schema
 *
 * A text is an int, the number of its chars or -1 for null, and UTF-16. `record_schemas.py` reads it, and writes the same.
 */
final class SchemaWriter {
    private static final int MANY = 4000;
    private final Map known = new IdentityHashMap();
    private final Map equal = new HashMap();
    private final Bytes described = new Bytes(1 << 12);
    private int count;
    private int before;

    /** At the begin of a batch. */
    void begin() {
        if (equal.size() > MANY) {
            reset();
        } else if (known.size() > MANY) {
            // Somebody builds each record's schema anew.
            known.clear();
        }
        described.buffer.clear();
        before = count;
    }

    /** Python has not seen what was last written, or could not read it. */
    void reset() {
        known.clear();
        equal.clear();
        count = 0;
    }

    int before() {
        return before;
    }

    int added() {
        return count - before;
    }

    ByteBuffer described() {
        ByteBuffer all = (ByteBuffer) described.buffer.duplicate();
        all.flip();
        return all;
    }

    int number(Schema schema) {
        Integer number = (Integer) known.get(schema);
        if (number == null) {
            number = (Integer) equal.get(schema);
            if (number == null) {
                number = Integer.valueOf(describe(schema));
                equal.put(schema, number);
            }
            known.put(schema, number);
        }
        return number.intValue();
    }

    private int describe(Schema schema) {
        Bytes own = new Bytes(256);
        own.byteOf(schema.type().ordinal());
        own.byteOf(schema.isOptional() ? 1 : 0);
        own.text(schema.name());
        own.text(schema.doc());
        own.byteOf(schema.version() == null ? 0 : 1);
        own.intOf(schema.version() == null ? 0 : schema.version().intValue());
        Map parameters = schema.parameters();
        own.intOf(parameters == null ? 0 : parameters.size());
        if (parameters != null) {
            for (Object each : parameters.entrySet()) {
                own.text((String) ((Map.Entry) each).getKey());
                own.text((String) ((Map.Entry) each).getValue());
            }
        }
        int type = schema.type().ordinal();
        if (type == Kinds.MAP) {
            own.intOf(part(schema.keySchema()));
        }
        if (type == Kinds.MAP || type == Kinds.ARRAY) {
            own.intOf(part(schema.valueSchema()));
        }
        if (type == Kinds.STRUCT) {
            own.intOf(schema.fields().size());
            for (Object each : schema.fields()) {
                own.text(((Field) each).name());
                own.intOf(number(((Field) each).schema()));
            }
        }
        Object value = schema.defaultValue();
        own.byteOf(value == null ? 0 : 1);
        if (value != null) {
            new ColumnWriter(own, this).column(type == Kinds.STRUCT ? null : schema, new Object[] {value});
        }
        own.buffer.flip();
        described.room(own.buffer.limit()).put(own.buffer);
        return count++;
    }

    private int part(Schema schema) {
        return schema == null ? -1 : number(schema);
    }
}
