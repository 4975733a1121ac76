package faulty;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Each number with what `plugin_faults/watch.py` reads: that all is well, and the process. */
public final class GoodSourceTask extends SourceTask {
    private String topic;
    private long last;

    public String version() {
        return "1.0";
    }

    public void start(Map properties) {
        topic = (String) properties.get("topic");
        Map stored = context.offsetStorageReader().offset(Collections.singletonMap("good", topic));
        last = stored == null ? 0 : ((Number) stored.get("number")).longValue();
    }

    public List poll() throws InterruptedException {
        Thread.sleep(100);
        last++;
        return Collections.singletonList(new SourceRecord(
                Collections.singletonMap("good", topic),
                Collections.singletonMap("number", Long.valueOf(last)),
                topic,
                Integer.valueOf(0),
                Schema.STRING_SCHEMA,
                last + " clean " + Faults.pid()));
    }

    public void stop() {}
}
