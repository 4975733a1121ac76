package kconnect.shim;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;

/**
 * Many values of one schema, as a column. `column_readers.py` reads it; `column_writers.py` and `ColumnReader` are the other
 * way. All numbers are ints unless said otherwise.
 *
 *   column     byte 0: none is null, 1: a byte for each value, 0 for null, 2: all are null; then a body of those that are not
 *   body       of INT8 to BOOLEAN: the numbers as they are
 *              STRING: texts.   Decimal: texts, of BigDecimal.   Date, Time, Timestamp: longs, milliseconds since 1970
 *              BYTES: byte 0: byte[], 1: ByteBuffer, 2: a byte for each, 0 or 1 as before; then lengths, then the bytes
 *              ARRAY: lengths, and a column of all elements
 *              MAP: byte 0: lengths, a column of all keys, one of all values; or byte 1: few sets of names, their number, each
 *              with its size and texts, then which set each map has (if there are several), and for each set how many maps
 *              have it, and a column for each name
 *              STRUCT: a column for each field
 *              without a schema: number of groups, which group each value is in (if there are several), and for each group
 *              the number of a struct's schema, or -1 - kind, then how many values (if there are several), then a body
 *   texts      byte 0: Latin-1, 1: UTF-16, 2: UTF-16 with surrogates; then lengths in chars; then all of them in one
 */
final class ColumnWriter {
    private final Bytes out;
    private final SchemaWriter schemas;
    private final MapWriter maps;

    ColumnWriter(Bytes out, SchemaWriter schemas) {
        this.out = out;
        this.schemas = schemas;
        this.maps = new MapWriter(out, this);
    }

    void column(Schema schema, Object[] values) {
        Object[] some = withoutNulls(values);
        if (some == null) {
            return;
        }
        if (schema == null) {
            groups(some);
        } else {
            body(Kinds.of(schema), schema, some);
        }
    }

    /** Writes which are null. Null if all are. */
    private Object[] withoutNulls(Object[] values) {
        int count = values.length;
        int nulls = 0;
        for (int at = 0; at < count; at++) {
            if (values[at] == null) {
                nulls++;
            }
        }
        if (nulls == 0) {
            out.byteOf(0);
            return values;
        }
        if (nulls == count) {
            out.byteOf(2);
            return null;
        }
        ByteBuffer to = out.room(1L + count);
        to.put((byte) 1);
        Object[] some = new Object[count - nulls];
        int kept = 0;
        for (int at = 0; at < count; at++) {
            to.put((byte) (values[at] == null ? 0 : 1));
            if (values[at] != null) {
                some[kept++] = values[at];
            }
        }
        return some;
    }

    private void body(int kind, Schema schema, Object[] values) {
        int count = values.length;
        ByteBuffer to = out.room(8L * count);
        switch (kind) {
            case Kinds.INT8:
                for (int at = 0; at < count; at++) {
                    to.put(((Byte) values[at]).byteValue());
                }
                break;
            case Kinds.INT16:
                for (int at = 0; at < count; at++) {
                    to.putShort(((Short) values[at]).shortValue());
                }
                break;
            case Kinds.INT32:
                for (int at = 0; at < count; at++) {
                    to.putInt(((Integer) values[at]).intValue());
                }
                break;
            case Kinds.INT64:
                for (int at = 0; at < count; at++) {
                    to.putLong(((Long) values[at]).longValue());
                }
                break;
            case Kinds.FLOAT32:
                for (int at = 0; at < count; at++) {
                    to.putFloat(((Float) values[at]).floatValue());
                }
                break;
            case Kinds.FLOAT64:
                for (int at = 0; at < count; at++) {
                    to.putDouble(((Double) values[at]).doubleValue());
                }
                break;
            case Kinds.BOOLEAN:
                for (int at = 0; at < count; at++) {
                    to.put((byte) (((Boolean) values[at]).booleanValue() ? 1 : 0));
                }
                break;
            case Kinds.STRING:
                out.texts(values);
                break;
            case Kinds.BYTES:
                bytes(values);
                break;
            case Kinds.ARRAY:
                arrays(schema, values);
                break;
            case Kinds.MAP:
                maps.body(schema, values);
                break;
            case Kinds.STRUCT:
                structs(schema, values);
                break;
            case Kinds.DECIMAL:
                Object[] texts = new Object[count];
                for (int at = 0; at < count; at++) {
                    texts[at] = ((BigDecimal) values[at]).toString();
                }
                out.texts(texts);
                break;
            case Kinds.DATE:
                for (int at = 0; at < count; at++) {
                    to.putLong(((Date) values[at]).getTime());
                }
                break;
            default:
                throw new DataException("There are no columns of the kind " + kind);
        }
    }

    private void bytes(Object[] values) {
        int buffers = 0;
        int[] lengths = new int[values.length];
        long total = 0;
        for (int at = 0; at < values.length; at++) {
            if (values[at] instanceof ByteBuffer) {
                buffers++;
                lengths[at] = ((ByteBuffer) values[at]).remaining();
            } else {
                lengths[at] = ((byte[]) values[at]).length;
            }
            total += lengths[at];
        }
        boolean mixed = buffers > 0 && buffers < values.length;
        out.byteOf(mixed ? 2 : buffers > 0 ? 1 : 0);
        for (int at = 0; mixed && at < values.length; at++) {
            out.byteOf(values[at] instanceof ByteBuffer ? 1 : 0);
        }
        out.ints(lengths, lengths.length);
        ByteBuffer to = out.room(total);
        for (int at = 0; at < values.length; at++) {
            if (values[at] instanceof ByteBuffer) {
                to.put((ByteBuffer) ((ByteBuffer) values[at]).duplicate());
            } else {
                to.put((byte[]) values[at]);
            }
        }
    }

    private void arrays(Schema schema, Object[] values) {
        int[] lengths = new int[values.length];
        int total = 0;
        for (int at = 0; at < values.length; at++) {
            lengths[at] = ((List) values[at]).size();
            total += lengths[at];
        }
        Object[] all = new Object[total];
        int to = 0;
        for (int at = 0; at < values.length; at++) {
            for (Object each : (List) values[at]) {
                all[to++] = each;
            }
        }
        out.ints(lengths, lengths.length);
        column(schema == null ? null : schema.valueSchema(), all);
    }

    private void structs(Schema schema, Object[] values) {
        int number = schemas.number(schema);
        for (int at = 0; at < values.length; at++) {
            Schema own = ((Struct) values[at]).schema();
            if (own != schema && schemas.number(own) != number && !own.equals(schema)) {
                throw new DataException("Struct schemas do not match.");
            }
        }
        for (Object each : schema.fields()) {
            Field field = (Field) each;
            Object[] column = new Object[values.length];
            // Structs give the default for what is not set, unless they are asked by name.
            boolean quick = field.schema().defaultValue() == null;
            for (int at = 0; at < values.length; at++) {
                Struct struct = (Struct) values[at];
                column[at] = quick ? struct.get(field) : struct.getWithoutDefault(field.name());
            }
            column(field.schema(), column);
        }
    }

    private void groups(Object[] values) {
        int[] codes = new int[8];
        int[] counts = new int[8];
        int[] which = new int[values.length];
        int groups = 0;
        int last = 0;
        for (int at = 0; at < values.length; at++) {
            int kind = Kinds.ofValue(values[at]);
            if (kind == Kinds.NONE) {
                throw new DataException("A " + values[at].getClass().getName() + " is no data of Connect's");
            }
            int code = kind == Kinds.STRUCT ? schemas.number(((Struct) values[at]).schema()) : -1 - kind;
            if (groups == 0 || codes[last] != code) {
                last = 0;
                while (last < groups && codes[last] != code) {
                    last++;
                }
                if (last == groups) {
                    if (groups == codes.length) {
                        codes = Arrays.copyOf(codes, 2 * groups);
                        counts = Arrays.copyOf(counts, 2 * groups);
                    }
                    codes[groups++] = code;
                }
            }
            counts[last]++;
            which[at] = last;
        }
        out.intOf(groups);
        if (groups > 1) {
            out.ints(which, which.length);
        }
        for (int group = 0; group < groups; group++) {
            out.intOf(codes[group]);
            if (groups > 1) {
                out.intOf(counts[group]);
            }
            Object[] own = groups == 1 ? values : only(values, which, group, counts[group]);
            if (codes[group] < 0) {
                body(-1 - codes[group], null, own);
            } else {
                body(Kinds.STRUCT, ((Struct) own[0]).schema(), own);
            }
        }
    }

    static Object[] only(Object[] values, int[] which, int group, int count) {
        Object[] own = new Object[count];
        int to = 0;
        for (int at = 0; at < values.length; at++) {
            if (which[at] == group) {
                own[to++] = values[at];
            }
        }
        return own;
    }
}
