package faulty;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** Misbehaves in the call that its settings name. */
public final class BadTransform implements Transformation {
    private String[] chosen = new String[] {"", ""};

    public void configure(Map properties) {
        chosen = Faults.chosen(properties, "");
        Faults.at("transform.configure", chosen, new Object[] {properties}, null);
    }

    public ConnectRecord apply(ConnectRecord record) {
        ConnectRecord answer = record.newRecord(
                record.topic(),
                record.kafkaPartition(),
                record.keySchema(),
                record.key(),
                record.valueSchema(),
                record.value(),
                record.timestamp(),
                record.headers().duplicate());
        Faults.at("transform.apply", chosen, new Object[] {record}, null);
        return answer;
    }

    public ConfigDef config() {
        return new ConfigDef();
    }

    public void close() {
        Faults.at("transform.close", chosen);
    }
}
