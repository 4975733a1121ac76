package rig;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.storage.Converter;

/** A text in brackets. Of `[odd]` it makes what is no data. */
public final class Brackets implements Converter {
    public void configure(Map properties, boolean isKey) {}

    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        if ("bad".equals(value)) {
            throw new DataException("there are no brackets for " + value);
        }
        return value == null ? null : ("[" + value + "]").getBytes(StandardCharsets.UTF_8);
    }

    public SchemaAndValue toConnectData(String topic, byte[] data) {
        if (data == null) {
            return SchemaAndValue.NULL;
        }
        String text = new String(data, StandardCharsets.UTF_8);
        if (!text.startsWith("[")) {
            throw new DataException("it has no brackets: " + text);
        }
        if (text.equals("[odd]")) {
            return new SchemaAndValue(null, new StringBuilder("no data of Connect's"));
        }
        return new SchemaAndValue(Schema.STRING_SCHEMA, text.substring(1, text.length() - 1));
    }
}
