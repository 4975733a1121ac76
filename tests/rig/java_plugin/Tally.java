package rig;

import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import javax.management.JMException;
import javax.management.ObjectName;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.Gauge;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.PluginMetrics;

/** What a task says of itself: as a bean, one of whose getters may hang, and as a metric of its plugin. */
public final class Tally implements TallyMBean, Gauge {
    private final NumbersTask task;
    private final boolean hangs;

    Tally(NumbersTask task, boolean hangs) {
        this.task = task;
        this.hangs = hangs;
    }

    void register(String name) {
        try {
            ManagementFactory.getPlatformMBeanServer().registerMBean(this, new ObjectName(name));
        } catch (JMException error) {
            throw new IllegalStateException(error);
        }
    }

    void makeMetrics(PluginMetrics metrics) {
        MetricName name = metrics.metricName("numbers-sent", "how many numbers it has sent", new LinkedHashMap());
        metrics.addMetric(name, this);
    }

    public Object value(MetricConfig config, long now) {
        return Double.valueOf(task.sent());
    }

    public long getSent() {
        return task.sent();
    }

    public boolean isReady() {
        return true;
    }

    public Double getUnknown() {
        return Double.valueOf(Double.NaN);
    }

    public String getText() {
        return "no number";
    }

    public int getSlow() throws InterruptedException {
        while (hangs) {
            Thread.sleep(1000);
        }
        return 1;
    }
}
