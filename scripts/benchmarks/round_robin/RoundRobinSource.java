package bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** The same as round_robin.py, for Connect. */
public class RoundRobinSource extends SourceConnector {
    private Map<String, String> props;

    @Override
    public String version() {
        return "1.0";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef()
            .define("prefix", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "")
            .define("topics", ConfigDef.Type.INT, ConfigDef.Importance.HIGH, "")
            .define("rounds", ConfigDef.Type.INT, ConfigDef.Importance.HIGH, "");
    }

    @Override
    public void start(Map<String, String> given) {
        props = given;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return Sender.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(props);
    }

    @Override
    public void stop() {
    }

    public static class Sender extends SourceTask {
        private String prefix;
        private int topics;
        private int rounds;
        private int done;

        @Override
        public String version() {
            return "1.0";
        }

        @Override
        public void start(Map<String, String> given) {
            prefix = given.get("prefix");
            topics = Integer.parseInt(given.get("topics"));
            rounds = Integer.parseInt(given.get("rounds"));
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            if (done == rounds) {
                Thread.sleep(100);
                return null;
            }
            done++;
            List<SourceRecord> found = new ArrayList<>();
            for (int number = 0; number < topics; number++) {
                found.add(new SourceRecord(Map.of(), Map.of("done", done), prefix + "-" + number, Schema.STRING_SCHEMA, "x"));
            }
            return found;
        }

        @Override
        public void stop() {
        }
    }
}
