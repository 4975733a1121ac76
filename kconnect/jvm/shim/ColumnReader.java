package kconnect.shim;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;

/** The values of columns, which `ColumnWriter` describes and `column_writers.py` has written. */
final class ColumnReader {
    private ByteBuffer in;
    private final SchemaReader schemas;
    private byte[] narrow = new byte[1024];
    private char[] wide = new char[1024];

    ColumnReader(SchemaReader schemas) {
        this.schemas = schemas;
    }

    void begin(ByteBuffer in) {
        this.in = in.order(ByteOrder.nativeOrder());
    }

    Object[] column(Schema schema, int count) {
        byte nulls = in.get();
        if (nulls == 0) {
            return schema == null ? groups(count) : body(Kinds.of(schema), schema, count);
        }
        Object[] values = new Object[count];
        if (nulls == 2) {
            return values;
        }
        byte[] there = new byte[count];
        in.get(there);
        int some = 0;
        for (int at = 0; at < count; at++) {
            some += there[at];
        }
        Object[] found = schema == null ? groups(some) : body(Kinds.of(schema), schema, some);
        int next = 0;
        for (int at = 0; at < count; at++) {
            if (there[at] != 0) {
                values[at] = found[next++];
            }
        }
        return values;
    }

    int[] ints(int count) {
        int[] values = new int[count];
        in.asIntBuffer().get(values);
        in.position(in.position() + 4 * count);
        return values;
    }

    String text() {
        int length = in.getInt();
        if (length < 0) {
            return null;
        }
        char[] chars = new char[length];
        in.asCharBuffer().get(chars);
        in.position(in.position() + 2 * length);
        return new String(chars);
    }

    Object[] texts(int count) {
        byte form = in.get();
        int[] lengths = ints(count);
        int total = 0;
        for (int at = 0; at < count; at++) {
            total += lengths[at];
        }
        Object[] texts = new Object[count];
        int from = 0;
        if (form == 0) {
            if (narrow.length < total) {
                narrow = new byte[total + total / 4];
            }
            in.get(narrow, 0, total);
            for (int at = 0; at < count; at++) {
                texts[at] = new String(narrow, from, lengths[at], StandardCharsets.ISO_8859_1);
                from += lengths[at];
            }
            return texts;
        }
        if (wide.length < total) {
            wide = new char[total + total / 4];
        }
        in.asCharBuffer().get(wide, 0, total);
        in.position(in.position() + 2 * total);
        for (int at = 0; at < count; at++) {
            texts[at] = new String(wide, from, lengths[at]);
            from += lengths[at];
        }
        return texts;
    }

    private Object[] body(int kind, Schema schema, int count) {
        Object[] values = new Object[count];
        switch (kind) {
            case Kinds.INT8:
                for (int at = 0; at < count; at++) {
                    values[at] = Byte.valueOf(in.get());
                }
                return values;
            case Kinds.INT16:
                for (int at = 0; at < count; at++) {
                    values[at] = Short.valueOf(in.getShort());
                }
                return values;
            case Kinds.INT32:
                for (int at = 0; at < count; at++) {
                    values[at] = Integer.valueOf(in.getInt());
                }
                return values;
            case Kinds.INT64:
                for (int at = 0; at < count; at++) {
                    values[at] = Long.valueOf(in.getLong());
                }
                return values;
            case Kinds.FLOAT32:
                for (int at = 0; at < count; at++) {
                    values[at] = Float.valueOf(in.getFloat());
                }
                return values;
            case Kinds.FLOAT64:
                for (int at = 0; at < count; at++) {
                    values[at] = Double.valueOf(in.getDouble());
                }
                return values;
            case Kinds.BOOLEAN:
                for (int at = 0; at < count; at++) {
                    values[at] = Boolean.valueOf(in.get() != 0);
                }
                return values;
            case Kinds.STRING:
                return texts(count);
            case Kinds.BYTES:
                return bytes(count);
            case Kinds.ARRAY:
                return arrays(schema, count);
            case Kinds.MAP:
                return maps(schema, count);
            case Kinds.STRUCT:
                return structs(schema, count);
            case Kinds.DECIMAL:
                Object[] texts = texts(count);
                for (int at = 0; at < count; at++) {
                    values[at] = new BigDecimal((String) texts[at]);
                }
                return values;
            case Kinds.DATE:
                for (int at = 0; at < count; at++) {
                    values[at] = new Date(in.getLong());
                }
                return values;
            default:
                throw new DataException("There are no columns of the kind " + kind);
        }
    }

    private Object[] bytes(int count) {
        byte form = in.get();
        byte[] buffers = new byte[count];
        if (form == 2) {
            in.get(buffers);
        } else {
            Arrays.fill(buffers, form);
        }
        int[] lengths = ints(count);
        Object[] values = new Object[count];
        for (int at = 0; at < count; at++) {
            byte[] own = new byte[lengths[at]];
            in.get(own);
            if (buffers[at] != 0) {
                values[at] = ByteBuffer.wrap(own);
            } else {
                values[at] = own;
            }
        }
        return values;
    }

    private Object[] arrays(Schema schema, int count) {
        int[] lengths = ints(count);
        Object[] all = column(schema == null ? null : schema.valueSchema(), sum(lengths));
        Object[] values = new Object[count];
        int from = 0;
        for (int at = 0; at < count; at++) {
            List own = new ArrayList(lengths[at]);
            for (int end = from + lengths[at]; from < end; from++) {
                own.add(all[from]);
            }
            values[at] = own;
        }
        return values;
    }

    private Object[] maps(Schema schema, int count) {
        Schema ofValues = schema == null ? null : schema.valueSchema();
        if (in.get() == 1) {
            return namedMaps(ofValues, count);
        }
        int[] lengths = ints(count);
        int total = sum(lengths);
        Object[] keys = column(schema == null ? null : schema.keySchema(), total);
        Object[] items = column(ofValues, total);
        Object[] values = new Object[count];
        int from = 0;
        for (int at = 0; at < count; at++) {
            LinkedHashMap own = new LinkedHashMap();
            for (int end = from + lengths[at]; from < end; from++) {
                own.put(keys[from], items[from]);
            }
            values[at] = own;
        }
        return values;
    }

    private Object[] namedMaps(Schema ofValues, int count) {
        int sets = in.getInt();
        Object[][] names = new Object[sets][];
        for (int set = 0; set < sets; set++) {
            names[set] = texts(in.getInt());
        }
        int[] which = sets > 1 ? ints(count) : new int[count];
        Object[] values = new Object[count];
        for (int set = 0; set < sets; set++) {
            int own = in.getInt();
            Object[][] columns = new Object[names[set].length][];
            for (int column = 0; column < columns.length; column++) {
                columns[column] = column(ofValues, own);
            }
            int row = 0;
            for (int at = 0; at < count; at++) {
                if (which[at] == set) {
                    LinkedHashMap map = new LinkedHashMap(2 * columns.length);
                    for (int column = 0; column < columns.length; column++) {
                        map.put(names[set][column], columns[column][row]);
                    }
                    values[at] = map;
                    row++;
                }
            }
        }
        return values;
    }

    private Object[] structs(Schema schema, int count) {
        Object[] values = new Object[count];
        for (int at = 0; at < count; at++) {
            values[at] = new Struct(schema);
        }
        for (Object each : schema.fields()) {
            Field field = (Field) each;
            Object[] column = column(field.schema(), count);
            for (int at = 0; at < count; at++) {
                if (column[at] != null) {
                    ((Struct) values[at]).put(field, column[at]);
                }
            }
        }
        return values;
    }

    private Object[] groups(int count) {
        int groups = in.getInt();
        if (groups == 1) {
            return group(in.getInt(), count);
        }
        Object[] values = new Object[count];
        if (groups == 0) {
            return values;
        }
        int[] which = ints(count);
        for (int group = 0; group < groups; group++) {
            int code = in.getInt();
            spread(values, which, group, group(code, in.getInt()));
        }
        return values;
    }

    private Object[] group(int code, int count) {
        return code < 0 ? body(-1 - code, null, count) : body(Kinds.STRUCT, schemas.of(code), count);
    }

    static void spread(Object[] values, int[] which, int group, Object[] own) {
        int next = 0;
        for (int at = 0; at < values.length; at++) {
            if (which[at] == group) {
                values[at] = own[next++];
            }
        }
    }

    private static int sum(int[] lengths) {
        int total = 0;
        for (int at = 0; at < lengths.length; at++) {
            total += lengths[at];
        }
        return total;
    }
}
