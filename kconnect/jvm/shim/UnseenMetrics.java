package kconnect.shim;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.MetricValueProvider;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.Sensor;

/** The metrics of one plugin (KIP-877), kept where nobody sees them. */
public final class UnseenMetrics implements PluginMetrics {
    private final Metrics metrics = new Metrics();

    public MetricName metricName(String name, String description, LinkedHashMap tags) {
        return metrics.metricName(name, "plugins", description, (Map) tags);
    }

    public void addMetric(MetricName name, MetricValueProvider value) {
        metrics.addMetric(name, value);
    }

    public void removeMetric(MetricName name) {
        metrics.removeMetric(name);
    }

    public Sensor addSensor(String name) {
        return metrics.sensor(name);
    }

    public void removeSensor(String name) {
        metrics.removeSensor(name);
    }
}
