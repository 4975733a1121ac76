package rig;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.sink.SinkConnector;

/** Its tasks write down what they are given. */
public final class RecordingSink extends SinkConnector {
    private Map config;

    public String version() {
        return "1.2.3";
    }

    public void start(Map properties) {
        config = properties;
    }

    public Class taskClass() {
        return RecordingTask.class;
    }

    public List taskConfigs(int most) {
        List configs = new ArrayList();
        for (int number = 0; number < most; number++) {
            configs.add(config);
        }
        return configs;
    }

    public void stop() {}

    public ConfigDef config() {
        return new ConfigDef()
                .define(
                        "file",
                        ConfigDef.Type.STRING,
                        ConfigDef.NO_DEFAULT_VALUE,
                        ConfigDef.Importance.HIGH,
                        "where to")
                .define("fails", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "the value that it can't take");
    }
}
