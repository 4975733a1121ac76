package faulty;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.source.SourceConnector;

/** Misbehaves in the call that its settings name, or, before it knows them, the plan (`Faults.planned`). */
public final class BadSource extends SourceConnector {
    static final ConfigDef SETTINGS = new ConfigDef()
            .define("topic", ConfigDef.Type.STRING, "", ConfigDef.Importance.HIGH, "where to")
            .define("fault.place", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "which call misbehaves")
            .define("fault.kind", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "how");
    private Map config;
    private String[] chosen = new String[] {"", ""};

    public BadSource() {
        Faults.at("connector.constructor", Faults.planned());
    }

    public String version() {
        Faults.at("connector.version", Faults.planned());
        return "1.0";
    }

    public ConfigDef config() {
        Faults.at("connector.config", Faults.planned());
        return SETTINGS;
    }

    public Config validate(Map properties) {
        Map answer = new HashMap(properties);
        Faults.at("connector.validate", Faults.chosen(properties, "fault."), new Object[] {properties}, null);
        return super.validate(answer);
    }

    public boolean alterOffsets(Map properties, Map offsets) {
        Faults.at(
                "connector.alter_offsets",
                Faults.chosen(properties, "fault."),
                new Object[] {properties, offsets},
                null);
        return true;
    }

    public void start(Map properties) {
        config = new HashMap(properties);
        chosen = Faults.chosen(properties, "fault.");
        Faults.at("connector.start", chosen, new Object[] {properties}, context);
    }

    public Class taskClass() {
        Faults.at("connector.task_class", chosen, new Object[0], context);
        return BadSourceTask.class;
    }

    public List taskConfigs(int most) {
        Faults.at("connector.task_configs", chosen, new Object[0], context);
        return Collections.singletonList(config);
    }

    public void stop() {
        Faults.at("connector.stop", chosen, new Object[0], context);
    }
}
