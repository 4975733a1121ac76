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
        Faults.at("converter.configure", chosen, new Object[] {properties}, null);
    }

    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        byte[] answer = value == null ? null : value.toString().getBytes(StandardCharsets.UTF_8);
        Faults.at("converter.from_connect_data", chosen, new Object[] {value}, null);
        return answer;
    }

    public SchemaAndValue toConnectData(String topic, byte[] data) {
        String text = data == null ? null : new String(data, StandardCharsets.UTF_8);
        Faults.at("converter.to_connect_data", chosen, new Object[] {data}, null);
        return new SchemaAndValue(Schema.OPTIONAL_STRING_SCHEMA, text);
    }
}
