package rig;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;

/** Counts, as `VerifiableSourceConnector` of `verifiable.py` does, with the same settings, records, offsets and journal. */
public final class CheckedSource extends SourceConnector {
    private Map config;

    public String version() {
        return "1.0";
    }

    public void start(Map properties) {
        config = properties;
    }

    public Class taskClass() {
        return CheckedSourceTask.class;
    }

    public List taskConfigs(int most) {
        List configs = new ArrayList();
        for (int task = 0; task < most; task++) {
            Map each = new HashMap(config);
            each.put("task", String.valueOf(task));
            configs.add(each);
        }
        return configs;
    }

    public void stop() {}

    public ConfigDef config() {
        return new ConfigDef()
                .define(
                        "directory",
                        ConfigDef.Type.STRING,
                        ConfigDef.NO_DEFAULT_VALUE,
                        ConfigDef.Importance.HIGH,
                        "where the journal is")
                .define(
                        "topic",
                        ConfigDef.Type.STRING,
                        ConfigDef.NO_DEFAULT_VALUE,
                        ConfigDef.Importance.HIGH,
                        "where to")
                .define(
                        "rate",
                        ConfigDef.Type.INT,
                        Integer.valueOf(50),
                        ConfigDef.Importance.LOW,
                        "records a second of each task")
                .define(
                        "poll.ms",
                        ConfigDef.Type.INT,
                        Integer.valueOf(100),
                        ConfigDef.Importance.LOW,
                        "how long a poll takes")
                .define("revision", ConfigDef.Type.INT, Integer.valueOf(0), ConfigDef.Importance.LOW, "means nothing");
    }

    public ExactlyOnceSupport exactlyOnceSupport(Map properties) {
        return ExactlyOnceSupport.SUPPORTED;
    }
}
