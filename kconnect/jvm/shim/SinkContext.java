package kconnect.shim;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.runtime.WorkerSinkTaskContext;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkTaskContext;

/**
 * The context of a sink task, of the class that Connect's workers have for it: tasks that commit offsets in transactions of
 * their own, as Iceberg's do, take that class's consumer by reflection to ask for its group. Everything else is Python's.
 */
public final class SinkContext extends WorkerSinkTaskContext {
    private final SinkTaskContext it;

    /** `committed` gives what the group has committed of a collection of partitions. */
    public SinkContext(SinkTaskContext it, String group, Function committed) {
        super(consumer(it, group, committed), null, null);
        this.it = it;
    }

    public Map configs() {
        return it.configs();
    }

    public void offset(Map offsets) {
        it.offset(offsets);
    }

    public void offset(TopicPartition place, long offset) {
        it.offset(place, offset);
    }

    public void timeout(long milliseconds) {
        it.timeout(milliseconds);
    }

    public Set assignment() {
        return it.assignment();
    }

    public void pause(TopicPartition... places) {
        it.pause(places);
    }

    public void resume(TopicPartition... places) {
        it.resume(places);
    }

    public void requestCommit() {
        it.requestCommit();
    }

    public ErrantRecordReporter errantRecordReporter() {
        return it.errantRecordReporter();
    }

    public PluginMetrics pluginMetrics() {
        return it.pluginMetrics();
    }

    /** Who reads is a consumer of librdkafka's. Brokers take offsets of a transaction from whoever names the group. */
    private static Consumer consumer(final SinkTaskContext it, final String group, final Function committed) {
        InvocationHandler handler = new InvocationHandler() {
            public Object invoke(Object proxy, Method method, Object[] arguments) {
                String name = method.getName();
                if (name.equals("groupMetadata")) {
                    return new ConsumerGroupMetadata(group);
                }
                if (name.equals("assignment")) {
                    return it.assignment();
                }
                if (name.equals("committed")) {
                    return committed.apply(arguments[0]);
                }
                if (name.equals("hashCode")) {
                    return Integer.valueOf(System.identityHashCode(proxy));
                }
                if (name.equals("equals")) {
                    return Boolean.valueOf(proxy == arguments[0]);
                }
                if (name.equals("toString")) {
                    return "the consumer of group " + group;
                }
                throw new UnsupportedOperationException("Consumer." + name
                        + " can't be called by a task: kconnect reads for it. groupMetadata, assignment and"
                        + " committed can");
            }
        };
        return (Consumer)
                Proxy.newProxyInstance(SinkContext.class.getClassLoader(), new Class[] {Consumer.class}, handler);
    }
}
