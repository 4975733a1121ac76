package rig;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.metrics.stats.CumulativeCount;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.transforms.Transformation;

/** Makes a value's letters large, with `mark` behind them; drops the value "drop", and fails on "bad" and, worse, on "error". */
public final class Shout implements Transformation, Monitorable {
    private String mark;
    private Sensor calls;

    public void configure(Map properties) {
        mark = properties.containsKey("mark") ? (String) properties.get("mark") : "!";
    }

    public void withPluginMetrics(PluginMetrics metrics) {
        calls = metrics.addSensor("calls");
        calls.add(
                metrics.metricName("calls-total", "how often it was called", new LinkedHashMap()),
                new CumulativeCount());
    }

    public ConnectRecord apply(ConnectRecord record) {
        if (calls != null) {
            calls.record();
        }
        String value = (String) record.value();
        if (value.equals("bad")) {
            throw new DataException("it does not shout " + value);
        }
        if (value.equals("error")) {
            throw new NoClassDefFoundError("it lacks a class");
        }
        return value.equals("drop")
                ? null
                : record.newRecord(
                        record.topic(),
                        record.kafkaPartition(),
                        record.keySchema(),
                        record.key(),
                        record.valueSchema(),
                        value.toUpperCase() + mark,
                        record.timestamp());
    }

    public ConfigDef config() {
        return new ConfigDef()
                .define("mark", ConfigDef.Type.STRING, "!", ConfigDef.Importance.LOW, "what comes behind the value");
    }

    public void close() {}
}
