package faulty;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.Converter;

/** Of texts. Misbehaves in the call that its settings name; without such settings it is what good connectors use. */
public final class BadConverter implements Converter {
    private String[] chosen = new String[] {"", ""};

    public void configure(Map properties, boolean isKey) {
        chosen = Faults.chosen(properties, "");
        Faults.at("converter.configure", chosen);
    }

    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        Faults.at("converter.from_connect_data", chosen);
        return value == null ? null : value.toString().getBytes(StandardCharsets.UTF_8);
    }

    public SchemaAndValue toConnectData(String topic, byte[] data) {
        Faults.at("converter.to_connect_data", chosen);
        return new SchemaAndValue(Schema.OPTIONAL_STRING_SCHEMA, data == null ? null : new String(data, StandardCharsets.UTF_8));
    }
}
