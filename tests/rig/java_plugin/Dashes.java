package rig;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.HeaderConverter;

/** A header's value as a text between dashes. */
public final class Dashes implements HeaderConverter {
    public void configure(Map properties) {}

    public byte[] fromConnectHeader(String topic, String key, Schema schema, Object value) {
        return ("-" + value + "-").getBytes(StandardCharsets.UTF_8);
    }

    public SchemaAndValue toConnectHeader(String topic, String key, byte[] value) {
        String text = new String(value, StandardCharsets.UTF_8);
        return new SchemaAndValue(Schema.STRING_SCHEMA, text.substring(1, text.length() - 1));
    }

    public ConfigDef config() {
        return new ConfigDef();
    }

    public void close() {}
}
