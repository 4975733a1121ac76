package kconnect.shim;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.DataException;

/** The schemas that Python has described so far, by number; `SchemaWriter` says how. */
final class SchemaReader {
    private static final Schema.Type[] TYPES = Schema.Type.values();
    private final List known = new ArrayList();

    Schema of(int number) {
        return (Schema) known.get(number);
    }

    /** Descriptions follow, of which Python knows how many came before. */
    void read(ByteBuffer in, int before, int added) {
        if (before == 0) {
            known.clear();
        }
        if (before != known.size()) {
            throw new DataException("Python has described " + before + " schemas, but Java knows " + known.size());
        }
        ColumnReader columns = new ColumnReader(this);
        columns.begin(in);
        for (int count = 0; count < added; count++) {
            known.add(one(in, columns));
        }
    }

    private Schema one(ByteBuffer in, ColumnReader columns) {
        Schema.Type type = TYPES[in.get()];
        boolean optional = in.get() != 0;
        String name = columns.text();
        String doc = columns.text();
        boolean hasVersion = in.get() != 0;
        int number = in.getInt();
        Integer version = hasVersion ? Integer.valueOf(number) : null;
        Map parameters = null;
        for (int left = in.getInt(); left > 0; left--) {
            parameters = parameters == null ? new LinkedHashMap() : parameters;
            String parameter = columns.text();
            parameters.put(parameter, columns.text());
        }
        Schema ofKeys = null;
        Schema ofValues = null;
        List fields = null;
        if (type.ordinal() == Kinds.MAP) {
            ofKeys = part(in.getInt());
        }
        if (type.ordinal() == Kinds.MAP || type.ordinal() == Kinds.ARRAY) {
            ofValues = part(in.getInt());
        }
        if (type.ordinal() == Kinds.STRUCT) {
            fields = new ArrayList();
            for (int left = in.getInt(); left > 0; left--) {
                String field = columns.text();
                fields.add(new Field(field, fields.size(), of(in.getInt())));
            }
        }
        Schema made = new ConnectSchema(type, optional, null, name, version, doc, parameters, fields, ofKeys, ofValues);
        if (in.get() == 0) {
            return made;
        }
        Object value = columns.column(type.ordinal() == Kinds.STRUCT ? null : made, 1)[0];
        return new ConnectSchema(type, optional, value, name, version, doc, parameters, fields, ofKeys, ofValues);
    }

    private Schema part(int number) {
        return number < 0 ? null : of(number);
    }
}
