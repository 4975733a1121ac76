package kconnect.shim;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.DataException;

/**
 * Maps as a column, for `ColumnWriter`, which describes it. Maps of objects without a schema mostly have the names of those
 * before them: then the names are written once, and their values as the fields of a struct are.
 */
final class MapWriter {
    private static final int FEW = 8;
    private final Bytes out;
    private final ColumnWriter columns;

    MapWriter(Bytes out, ColumnWriter columns) {
        this.out = out;
        this.columns = columns;
    }

    void body(Schema schema, Object[] values) {
        Schema ofKeys = schema == null ? null : schema.keySchema();
        Schema ofValues = schema == null ? null : schema.valueSchema();
        if (ofKeys == null || Kinds.of(ofKeys) == Kinds.STRING) {
            int[] which = new int[values.length];
            List sets = sets(values, which);
            if (sets != null) {
                namedMaps(ofValues, values, sets, which);
                return;
            }
        }
        int[] lengths = new int[values.length];
        int total = 0;
        for (int at = 0; at < values.length; at++) {
            lengths[at] = ((Map) values[at]).size();
            total += lengths[at];
        }
        Object[] keys = new Object[total];
        Object[] items = new Object[total];
        int to = 0;
        for (int at = 0; at < values.length; at++) {
            for (Object each : ((Map) values[at]).entrySet()) {
                Map.Entry entry = (Map.Entry) each;
                if (entry.getKey() instanceof List || entry.getKey() instanceof Map) {
                    throw new DataException("A list or map is no key of a dict");
                }
                keys[to] = entry.getKey();
                items[to++] = entry.getValue();
            }
        }
        out.byteOf(0);
        out.ints(lengths, lengths.length);
        columns.column(ofKeys, keys);
        columns.column(ofValues, items);
    }

    /** The few sets of names that the maps have, and which each one has; null if there are many, or other keys. */
    private static List sets(Object[] values, int[] which) {
        List sets = new ArrayList();
        int last = 0;
        for (int at = 0; at < values.length; at++) {
            Map map = (Map) values[at];
            if (last >= sets.size() || !has(map, (Object[]) sets.get(last))) {
                last = 0;
                while (last < sets.size() && !has(map, (Object[]) sets.get(last))) {
                    last++;
                }
                if (last == sets.size()) {
                    Object[] names = map.keySet().toArray();
                    for (int each = 0; each < names.length; each++) {
                        if (!(names[each] instanceof String)) {
                            return null;
                        }
                    }
                    if (last == FEW) {
                        return null;
                    }
                    sets.add(names);
                }
            }
            which[at] = last;
        }
        return sets;
    }

    private static boolean has(Map map, Object[] names) {
        if (map.size() != names.length) {
            return false;
        }
        Iterator keys = map.keySet().iterator();
        for (int at = 0; at < names.length; at++) {
            if (!keys.hasNext() || !names[at].equals(keys.next())) {
                return false;
            }
        }
        return true;
    }

    private void namedMaps(Schema ofValues, Object[] values, List sets, int[] which) {
        out.byteOf(1);
        out.intOf(sets.size());
        for (Object each : sets) {
            out.intOf(((Object[]) each).length);
            out.texts((Object[]) each);
        }
        if (sets.size() > 1) {
            out.ints(which, which.length);
        }
        for (int set = 0; set < sets.size(); set++) {
            int width = ((Object[]) sets.get(set)).length;
            int count = 0;
            for (int at = 0; at < which.length; at++) {
                if (which[at] == set) {
                    count++;
                }
            }
            out.intOf(count);
            Object[][] parts = new Object[width][count];
            int row = 0;
            for (int at = 0; at < which.length; at++) {
                if (which[at] == set) {
                    Iterator items = ((Map) values[at]).values().iterator();
                    for (int column = 0; column < width; column++) {
                        parts[column][row] = items.next();
                    }
                    row++;
                }
            }
            for (int column = 0; column < width; column++) {
                columns.column(ofValues, parts[column]);
            }
        }
    }
}
