package faulty;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.connector.ConnectorContext;
import org.apache.kafka.connect.sink.SinkTaskContext;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTaskContext;

/**
 * What Java code may do to the framework within a call without any error of its own; `plugin/meddling.py` in Java. What can't be
 * changed is left as it is.
 */
final class Meddling {
    private static final long LIMIT_MS = 30000;

    private Meddling() {}

    static void change(Object[] given) {
        for (int at = 0; at < given.length; at++) {
            change(given[at], 3);
        }
    }

    private static void change(Object thing, int depth) {
        if (depth == 0) {
            return;
        }
        List inner = new ArrayList();
        try {
            if (thing instanceof byte[]) {
                Arrays.fill((byte[]) thing, (byte) 0);
            } else if (thing instanceof Map) {
                inner.addAll(((Map) thing).values());
                ((Map) thing).clear();
                ((Map) thing).put("struck", "yes");
            } else if (thing instanceof Collection) {
                inner.addAll((Collection) thing);
                ((Collection) thing).clear();
            } else if (thing instanceof ConnectRecord) {
                ConnectRecord record = (ConnectRecord) thing;
                record.headers().addString("struck", "yes");
                inner.add(record.value());
                if (thing instanceof SourceRecord) {
                    inner.add(((SourceRecord) thing).sourcePartition());
                    inner.add(((SourceRecord) thing).sourceOffset());
                }
            }
        } catch (RuntimeException error) {
            // It can't be changed.
            inner.size();
        }
        for (Object each : inner) {
            change(each, depth - 1);
        }
    }

    /** Ask everything of the framework that may be asked, but for what fails the plugin or has it read elsewhere. */
    static void within(Object context) {
        if (context instanceof ConnectorContext) {
            ((ConnectorContext) context).requestTaskReconfiguration();
            ((ConnectorContext) context).pluginMetrics();
        } else if (context instanceof SourceTaskContext) {
            SourceTaskContext source = (SourceTaskContext) context;
            change(source.configs(), 1);
            change(source.offsetStorageReader().offset(Collections.singletonMap("bad", "1")), 1);
            source.transactionContext();
            source.pluginMetrics();
        } else if (context instanceof SinkTaskContext) {
            SinkTaskContext sink = (SinkTaskContext) context;
            change(sink.configs(), 1);
            TopicPartition[] assigned = (TopicPartition[]) sink.assignment().toArray(new TopicPartition[0]);
            sink.timeout(10L);
            sink.pause(assigned);
            sink.resume(assigned);
            sink.requestCommit();
            sink.errantRecordReporter();
            sink.pluginMetrics();
        }
    }

    /** The same from another thread, which the call waits for. */
    static void inAnotherThread(Object context) {
        Asking asking = new Asking(context);
        Thread thread = new Thread(asking, "struck and asking");
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join(LIMIT_MS);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
        if (asking.raised != null) {
            throw new IllegalStateException("struck: another thread was refused", asking.raised);
        }
        if (thread.isAlive()) {
            throw new IllegalStateException("struck: the framework does not answer another thread");
        }
    }

    private static final class Asking implements Runnable {
        private final Object context;
        volatile Throwable raised;

        Asking(Object context) {
            this.context = context;
        }

        public void run() {
            try {
                within(context);
            } catch (Throwable error) {
                raised = error;
            }
        }
    }
}
