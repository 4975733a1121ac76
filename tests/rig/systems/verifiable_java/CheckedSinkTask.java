package rig;

import java.io.FileOutputStream;
import java.io.IOException;
import java.util.Collection;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

public final class CheckedSinkTask extends SinkTask {
    private static final long IDLE_NS = 500000000L;

    private Life life;
    private FileOutputStream file;
    private long toldAt;

    public String version() {
        return "1.0";
    }

    public void start(Map properties) {
        String directory = (String) properties.get("directory");
        String unit = properties.get("name") + "-" + properties.get("task");
        life = new Life(directory, unit);
        file = Life.appendTo(directory + "/delivered-" + unit + "-" + life.id + ".jsonl");
        life.tell("started", "");
    }

    public void open(Collection partitions) {
        life.tell("open", places(partitions));
    }

    public void put(Collection records) {
        long now = System.nanoTime();
        if (!records.isEmpty() || now - toldAt >= IDLE_NS) {
            toldAt = now;
            life.tell("work", ",\"records\":" + records.size());
        }
        if (records.isEmpty()) {
            return;
        }
        String at = String.format(Locale.ROOT, "%.6f", new Object[] {Double.valueOf(now / 1e9)});
        StringBuilder lines = new StringBuilder();
        for (Iterator all = records.iterator(); all.hasNext(); ) {
            SinkRecord record = (SinkRecord) all.next();
            String value = ((String) record.value()).replace("\"", "\\\"");
            lines.append("[\"" + record.originalTopic() + "\", " + record.originalKafkaPartition() + ", "
                    + record.originalKafkaOffset() + ", \"" + value + "\", " + at + "]\n");
        }
        Life.write(file, lines.toString());
    }

    public void close(Collection partitions) {
        life.tell("close", places(partitions));
    }

    public void stop() {
        if (life == null) {
            return;
        }
        life.tell("stopped", "");
        try {
            file.close();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static String places(Collection partitions) {
        StringBuilder text = new StringBuilder(",\"partitions\":[");
        for (Iterator all = partitions.iterator(); all.hasNext(); ) {
            TopicPartition place = (TopicPartition) all.next();
            text.append("[\"" + place.topic() + "\", " + place.partition() + "]" + (all.hasNext() ? ", " : ""));
        }
        return text.append("]").toString();
    }
}
