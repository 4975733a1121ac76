package rig;

import java.io.File;
import java.io.FileWriter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/**
 * With `heard`, the name of a file, it writes down there what it hears of its records. With `waits`, `poll` waits until it has
 * heard of all that it gave before. `gives` is what `poll` gives in the place of its second record. So many records as `page`
 * says have the same offset; `offset=an object` is one that can't be stored. It hears of nothing before the file `hears_after` is
 * there.
 */
public final class NumbersTask extends SourceTask {
    private Map config;
    private Map partition;
    private long next;
    private long limit;
    private int batch;
    private boolean failed;
    private int unheard;
    private boolean stopped;

    public String version() {
        return "1.2.3";
    }

    public void start(Map properties) {
        config = properties;
        partition = Collections.singletonMap("task", properties.get("number"));
        limit = properties.containsKey("limit") ? Long.parseLong((String) properties.get("limit")) : Long.MAX_VALUE;
        batch = properties.containsKey("batch") ? Integer.parseInt((String) properties.get("batch")) : 100;
        Map stored = context.offsetStorageReader().offset(partition);
        publish();
        if ("task start".equals(properties.get("fails"))) {
            hear("start");
            throw new IllegalStateException(
                    "it fails at the start of its task, as it was told", new IOException("the cause"));
        }
        next = stored == null ? 0 : ((Number) stored.get("last")).longValue() + 1;
    }

    public List poll() throws InterruptedException {
        misbehave();
        if (config.containsKey("pause")) {
            Thread.sleep(Long.parseLong((String) config.get("pause")));
        }
        if (config.containsKey("waits")) {
            awaitAll();
        }
        List records = new ArrayList();
        for (; records.size() < batch && next < limit; next++) {
            SourceRecord record = new SourceRecord(
                    partition,
                    Collections.singletonMap("last", place()),
                    (String) config.get("topic"),
                    null,
                    Schema.INT64_SCHEMA,
                    Long.valueOf(next),
                    Schema.STRING_SCHEMA,
                    String.valueOf(next),
                    Long.valueOf(1000 + next));
            if (config.containsKey("header")) {
                record.headers().addString((String) config.get("header"), "h" + next);
            }
            records.add(
                    config.containsKey("gives") && records.size() == 1
                            ? odd((String) config.get("gives"), record)
                            : record);
            if (context.transactionContext() != null && next % 10 == 9) {
                context.transactionContext().commitTransaction(record);
            }
            if (context.transactionContext() != null && next % 10 == 4) {
                context.transactionContext().abortTransaction(record);
            }
        }
        if (records.isEmpty()) {
            Thread.sleep(100);
            return null;
        }
        unheard += records.size();
        return records;
    }

    private Object place() {
        if ("an object".equals(config.get("offset"))) {
            return new StringBuilder();
        }
        return Long.valueOf(config.containsKey("page") ? next / Long.parseLong((String) config.get("page")) : next);
    }

    private void awaitAll() throws InterruptedException {
        // Janino takes `synchronized` before a method, and leaves it out.
        synchronized (this) {
            while (unheard > 0 && !stopped) {
                wait();
            }
        }
    }

    private Object odd(String what, SourceRecord record) {
        if (what.equals("null")) {
            return null;
        }
        if (what.equals("a text")) {
            return "1";
        }
        if (what.equals("an object")) {
            return record.newRecord(
                    record.topic(),
                    null,
                    record.keySchema(),
                    record.key(),
                    null,
                    new StringBuilder("an object"),
                    record.timestamp());
        }
        if (what.equals("a late time")) {
            return record.newRecord(
                    record.topic(),
                    null,
                    record.keySchema(),
                    record.key(),
                    Timestamp.SCHEMA,
                    new Date(Long.MAX_VALUE),
                    record.timestamp());
        }
        boolean hasTopic = !what.equals("no topic");
        return record.newRecord(
                hasTopic ? record.topic() : null,
                what.equals("a partition") ? Integer.valueOf(-1) : record.kafkaPartition(),
                record.keySchema(),
                record.key(),
                record.valueSchema(),
                record.value(),
                what.equals("a time") ? Long.valueOf(-5) : record.timestamp());
    }

    public void commitRecord(SourceRecord record, RecordMetadata metadata) {
        if ("commitRecord".equals(config.get("fails")) && record.value().equals("1")) {
            throw new IllegalStateException("it fails in commitRecord, as it was told");
        }
        while (config.containsKey("hears_after") && !new File((String) config.get("hears_after")).exists()) {
            try {
                Thread.sleep(10);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
        hear(record.value() + " "
                + (metadata == null
                        ? "dropped"
                        : metadata.topic() + "-" + metadata.partition() + "@" + metadata.offset()));
        synchronized (this) {
            unheard--;
            notifyAll();
        }
    }

    public void commit() {
        hear("commit");
    }

    public void stop() {
        synchronized (this) {
            stopped = true;
            notifyAll();
        }
        hear("stop");
    }

    /** A bean, if the config has its name, or as many as it says; and metrics of its own. */
    private void publish() {
        Tally tally = new Tally(this, "bean".equals(config.get("fails")));
        tally.makeMetrics(context.pluginMetrics());
        if (config.containsKey("bean")) {
            tally.register((String) config.get("bean"));
        }
        int beans = config.containsKey("beans") ? Integer.parseInt((String) config.get("beans")) : 0;
        for (int number = 0; number < beans; number++) {
            tally.register("rig:type=Many,number=" + number);
        }
    }

    long sent() {
        return next;
    }

    private void misbehave() throws InterruptedException {
        String how = String.valueOf(config.get("fails"));
        if (next == 0) {
            return;
        }
        if (how.equals("poll")) {
            throw new IllegalStateException("it fails in poll, as it was told");
        }
        if (how.equals("poll once") && !failed) {
            failed = true;
            throw new RetriableException("not now");
        }
        if (how.equals("exit")) {
            System.exit(3);
        }
        if (how.equals("memory")) {
            List all = new ArrayList();
            while (true) {
                all.add(new byte[1 << 20]);
            }
        }
        if (how.equals("hang")) {
            while (true) {
                try {
                    Thread.sleep(1000);
                } catch (InterruptedException error) {
                    // It hangs.
                }
            }
        }
        if (how.equals("stack")) {
            deep(0);
        }
    }

    private int deep(int depth) {
        return deep(depth + 1) + 1;
    }

    private void hear(String what) {
        if (!config.containsKey("heard")) {
            return;
        }
        try {
            FileWriter file = new FileWriter((String) config.get("heard"), true);
            file.write(what + "\n");
            file.close();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }
}
