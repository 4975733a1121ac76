package faulty;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.sink.SinkConnector;

/** A neighbour: its task writes down what it reads. */
public final class GoodSink extends SinkConnector {
    private Map config;

    public String version() {
        return "1.0";
    }

    public ConfigDef config() {
        return new ConfigDef().define("file", ConfigDef.Type.STRING, "", ConfigDef.Importance.HIGH, "where to");
    }

    public void start(Map properties) {
        config = properties;
    }

    public Class taskClass() {
        return GoodSinkTask.class;
    }

    public List taskConfigs(int most) {
        return Collections.singletonList(config);
    }

    public void stop() {}
}
