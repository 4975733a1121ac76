package faulty;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.sink.SinkConnector;

/** Its tasks misbehave. */
public final class BadSink extends SinkConnector {
    private Map config;

    public String version() {
        return "1.0";
    }

    public ConfigDef config() {
        return BadSource.SETTINGS;
    }

    public void start(Map properties) {
        config = properties;
    }

    public Class taskClass() {
        return BadSinkTask.class;
    }

    public List taskConfigs(int most) {
        return Collections.singletonList(config);
    }

    public void stop() {}
}
