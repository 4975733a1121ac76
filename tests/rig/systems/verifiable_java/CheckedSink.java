package rig;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.sink.SinkConnector;

/** Writes down what it gets, and when, as `VerifiableSinkConnector` of `verifiable.py` does. */
public final class CheckedSink extends SinkConnector {
    private Map config;

    public String version() {
        return "1.0";
    }

    public void start(Map properties) {
        config = properties;
    }

    public Class taskClass() {
        return CheckedSinkTask.class;
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
                        "where files are");
    }
}
