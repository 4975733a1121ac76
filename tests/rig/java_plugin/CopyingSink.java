package rig;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.sink.SinkConnector;

/** Its task copies records to the topic `to`, exactly once. */
public final class CopyingSink extends SinkConnector {
    private Map config;

    public String version() {
        return "1.2.3";
    }

    public void start(Map properties) {
        config = properties;
    }

    public Class taskClass() {
        return CopyingTask.class;
    }

    public List taskConfigs(int most) {
        return Collections.singletonList(config);
    }

    public void stop() {}

    public ConfigDef config() {
        return new ConfigDef()
                .define("to", ConfigDef.Type.STRING, ConfigDef.NO_DEFAULT_VALUE, ConfigDef.Importance.HIGH, "the topic")
                .define(
                        "servers",
                        ConfigDef.Type.STRING,
                        ConfigDef.NO_DEFAULT_VALUE,
                        ConfigDef.Importance.HIGH,
                        "the brokers");
    }
}
