package faulty;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.source.SourceConnector;

/** A neighbour: writes numbered records all the time. */
public final class GoodSource extends SourceConnector {
    private Map config;

    public String version() {
        return "1.0";
    }

    public ConfigDef config() {
        return new ConfigDef()
                .define("topic", ConfigDef.Type.STRING, "", ConfigDef.Importance.HIGH, "where the numbers go");
    }

    public void start(Map properties) {
        config = properties;
    }

    public Class taskClass() {
        return GoodSourceTask.class;
    }

    public List taskConfigs(int most) {
        return Collections.singletonList(config);
    }

    public void stop() {}
}
