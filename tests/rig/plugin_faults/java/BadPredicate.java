package faulty;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Misbehaves in the call that its settings name. */
public final class BadPredicate implements Predicate {
    private String[] chosen = new String[] {"", ""};

    public void configure(Map properties) {
        chosen = Faults.chosen(properties, "");
    }

    public boolean test(ConnectRecord record) {
        Faults.at("predicate.test", chosen, new Object[] {record}, null);
        return true;
    }

    public ConfigDef config() {
        return new ConfigDef();
    }

    public void close() {}
}
