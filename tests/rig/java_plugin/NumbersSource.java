package rig;

import java.io.FileWriter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;

/**
 * Counts: its tasks send 0, 1, 2 and so on, each to a topic and a source partition of its own. `configs` says what else than
 * task configs `taskConfigs` gives, or how often it fails before; `heard.connector` is a file with the calls of the connector.
 */
public final class NumbersSource extends SourceConnector {
    private Map config;
    private int asked;

    public String version() {
        return "1.2.3";
    }

    public void start(Map properties) {
        config = properties;
        hear("start");
        if ("start".equals(properties.get("fails"))) {
            throw new IllegalStateException("it fails at the start, as it was told", new RuntimeException("the cause"));
        }
    }

    public Class taskClass() {
        return NumbersTask.class;
    }

    public List taskConfigs(int most) {
        hear("taskConfigs");
        String how = String.valueOf(config.get("configs"));
        if (how.startsWith("fail ") && ++asked <= Integer.parseInt(how.substring(5))) {
            throw new ConnectException("the database is starting", new IOException("refused"));
        }
        if (how.equals("nothing")) {
            return null;
        }
        if (how.equals("a null")) {
            return Collections.singletonList(null);
        }
        if (how.equals("a text")) {
            return Collections.singletonList("number=0");
        }
        if (how.equals("a number")) {
            return Collections.singletonList(Collections.singletonMap("number", Integer.valueOf(0)));
        }
        if (how.equals("a null value")) {
            return Collections.singletonList(Collections.singletonMap("number", null));
        }
        List configs = new ArrayList();
        for (int number = 0; number < most; number++) {
            Map each = new HashMap(config);
            each.put("number", String.valueOf(number));
            configs.add(each);
        }
        return configs;
    }

    public void stop() {
        hear("stop");
    }

    private void hear(String what) {
        if (!config.containsKey("heard.connector")) {
            return;
        }
        try {
            FileWriter file = new FileWriter((String) config.get("heard.connector"), true);
            file.write(what + "\n");
            file.close();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    public ConfigDef config() {
        return new ConfigDef()
                .define(
                        "topic",
                        ConfigDef.Type.STRING,
                        ConfigDef.NO_DEFAULT_VALUE,
                        ConfigDef.Importance.HIGH,
                        "where to")
                .define(
                        "limit",
                        ConfigDef.Type.LONG,
                        Long.valueOf(Long.MAX_VALUE),
                        ConfigDef.Range.atLeast(Integer.valueOf(0)),
                        ConfigDef.Importance.MEDIUM,
                        "how many records, of each task")
                .define("secret", ConfigDef.Type.PASSWORD, "", ConfigDef.Importance.LOW, "what nobody may see")
                .define("fails", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "where it fails");
    }

    public ExactlyOnceSupport exactlyOnceSupport(Map properties) {
        return ExactlyOnceSupport.SUPPORTED;
    }

    public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map properties) {
        return ConnectorTransactionBoundaries.SUPPORTED;
    }

    public boolean alterOffsets(Map properties, Map offsets) {
        for (Object each : offsets.values()) {
            if (each != null && !(((Map) each).get("last") instanceof Long)) {
                throw new ConfigException("The offset must have a number called last, but is " + each);
            }
        }
        return true;
    }
}
