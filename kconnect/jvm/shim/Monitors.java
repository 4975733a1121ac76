package kconnect.shim;

import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.metrics.JmxReporter;
import org.apache.kafka.common.metrics.KafkaMetricsContext;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.utils.Time;

/** The metrics that plugins make (KIP-877): JMX beans with the names that they have in Connect, until their unit has ended. */
public final class Monitors {
    private static final Map METRICS = new HashMap();

    private Monitors() {}

    /** For a connector or a task: that of this thread. */
    public static PluginMetrics own() {
        return of(Collections.emptyMap());
    }

    /** For a part of a task's chain, if it asks for them; `tag` says what it is, `name` which. */
    public static void offer(Object plugin, String tag, String name) {
        if (plugin instanceof Monitorable) {
            ((Monitorable) plugin).withPluginMetrics(of(Collections.singletonMap(tag, name)));
        }
    }

    /** Those of the unit of this thread, which ends. */
    public static void end() {
        Metrics ended;
        synchronized (METRICS) {
            ended = (Metrics) METRICS.remove(Whose.unit());
        }
        if (ended != null) {
            ended.close();
        }
    }

    private static PluginMetrics of(Map more) {
        String unit = Whose.unit();
        Map tags = new LinkedHashMap();
        int end = unit.indexOf(Whose.END);
        if (end >= 0) {
            tags.put("connector", unit.substring(0, end));
            if (end + 1 < unit.length()) {
                tags.put("task", unit.substring(end + 1));
            }
        }
        tags.putAll(more);
        synchronized (METRICS) {
            Metrics metrics = (Metrics) METRICS.get(unit);
            if (metrics == null) {
                JmxReporter reporter = new JmxReporter();
                // How many metrics there are: each unit's would have the same name.
                reporter.configure(Collections.singletonMap(
                        JmxReporter.EXCLUDE_CONFIG, "kafka.connect:type=kafka-metrics-count.*"));
                metrics = new Metrics(
                        new MetricConfig(),
                        Collections.singletonList(reporter),
                        Time.SYSTEM,
                        new KafkaMetricsContext("kafka.connect"));
                METRICS.put(unit, metrics);
            }
            return new PluginMetricsImpl(metrics, tags);
        }
    }
}
