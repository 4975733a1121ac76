package rig;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

public final class CheckedSourceTask extends SourceTask {
    private final CountDownLatch stopped = new CountDownLatch(1);
    private String topic;
    private String unit;
    private Integer task;
    private Map partition;
    private int count;
    private long pauseMs;
    private long seqno;
    private volatile long acked;
    private Life life;

    public String version() {
        return "1.0";
    }

    public void start(Map properties) {
        topic = (String) properties.get("topic");
        task = Integer.valueOf((String) properties.get("task"));
        int rate = number(properties, "rate", 50);
        count = Math.max(1, rate * number(properties, "poll.ms", 100) / 1000);
        pauseMs = 1000L * count / rate;
        partition = Collections.singletonMap("task", task);
        Map stored = context.offsetStorageReader().offset(partition);
        seqno = stored == null ? 0 : ((Number) stored.get("seqno")).longValue();
        unit = properties.get("name") + "-" + task;
        life = new Life((String) properties.get("directory"), unit);
        life.tell("started", ",\"stored\":" + seqno);
    }

    private static int number(Map properties, String name, int otherwise) {
        return properties.containsKey(name) ? Integer.parseInt((String) properties.get(name)) : otherwise;
    }

    public List poll() throws InterruptedException {
        // Told at the entry: a process that was suspended in the wait below has not been asked for anything since.
        life.tell("work", ",\"acked\":" + acked);
        if (stopped.await(pauseMs, TimeUnit.MILLISECONDS)) {
            return null;
        }
        life.tell("gave", ",\"first\":" + (seqno + 1) + ",\"last\":" + (seqno + count));
        List records = new ArrayList();
        for (int number = 0; number < count; number++) {
            seqno++;
            String value = "{\"unit\": \"" + unit + "\", \"seqno\": " + seqno + ", \"life\": \"" + life.id + "\"}";
            records.add(new SourceRecord(
                    partition,
                    Collections.singletonMap("seqno", Long.valueOf(seqno)),
                    topic,
                    task,
                    null,
                    null,
                    Schema.STRING_SCHEMA,
                    value));
        }
        return records;
    }

    public void commitRecord(SourceRecord record, RecordMetadata metadata) {
        acked = ((Number) record.sourceOffset().get("seqno")).longValue();
    }

    public void stop() {
        stopped.countDown();
        if (life != null) {
            life.tell("stopped", ",\"acked\":" + acked);
        }
    }
}
