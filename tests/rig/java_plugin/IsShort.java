package rig;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Of values with fewer than four letters. */
public final class IsShort implements Predicate {
    public void configure(Map properties) {}

    public boolean test(ConnectRecord record) {
        return ((String) record.value()).length() < 4;
    }

    public ConfigDef config() {
        return new ConfigDef();
    }

    public void close() {}
}
