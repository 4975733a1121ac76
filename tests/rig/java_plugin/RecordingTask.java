package rig;

import java.io.FileWriter;
import java.io.IOException;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/**
 * A line for each record: topic, partition, offset, key, value, timestamp, headers. A value that is that of `fails` it does not
 * take: it reports the record, or, with `how=retry`, takes it at the second attempt, else it fails. With `how=original` a second
 * line has the message that the record was made of. `how` may also say that its start fails, or what it answers to preCommit.
 */
public final class RecordingTask extends SinkTask {
    private Map config;
    private boolean tried;

    public String version() {
        return "1.2.3";
    }

    public void start(Map properties) {
        config = properties;
        if (String.valueOf(config.get("how")).equals("start")) {
            write("start\n");
            throw new ConnectException("it fails at the start, as it was told");
        }
    }

    public Map preCommit(Map offsets) {
        String how = String.valueOf(config.get("how"));
        if (how.equals("commits null")) {
            return null;
        }
        Object place = offsets.isEmpty()
                ? new TopicPartition("t", 3)
                : offsets.keySet().iterator().next();
        if (how.equals("commits a null")) {
            return Collections.singletonMap(place, null);
        }
        if (how.equals("commits a null elsewhere")) {
            return Collections.singletonMap(new TopicPartition("elsewhere", 7), null);
        }
        if (how.equals("commits a number")) {
            return Collections.singletonMap(place, Long.valueOf(5));
        }
        if (how.equals("commits nowhere")) {
            return Collections.singletonMap(null, new OffsetAndMetadata(5));
        }
        return offsets;
    }

    public void put(Collection records) {
        String bad = (String) config.get("fails");
        String how = String.valueOf(config.get("how"));
        for (Object each : records) {
            if (String.valueOf(((SinkRecord) each).value()).equals(bad) && how.equals("retry") && !tried) {
                tried = true;
                context.timeout(50);
                // As a task does that takes out what it has delivered, or has begun with.
                records.clear();
                throw new RetriableException("at the second attempt");
            }
        }
        StringBuilder lines = new StringBuilder();
        for (Object each : records) {
            SinkRecord record = (SinkRecord) each;
            if (String.valueOf(record.value()).equals(bad) && !how.equals("retry")) {
                if (!how.equals("report")) {
                    throw new ConnectException("it does not take " + bad);
                }
                context.errantRecordReporter().report(record, new ConnectException("it does not take " + bad));
                continue;
            }
            lines.append(record.topic() + " " + record.kafkaPartition() + " " + record.kafkaOffset() + " "
                    + record.key() + " " + record.value() + " " + record.timestamp() + " " + record.headers() + "\n");
            if (how.equals("original")) {
                lines.append("of " + ((InternalSinkRecord) record).context().original() + "\n");
            }
        }
        write(lines.toString());
    }

    private void write(String lines) {
        try {
            FileWriter file = new FileWriter((String) config.get("file"), true);
            file.write(lines);
            file.close();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    public void stop() {
        if (String.valueOf(config.get("how")).equals("start")) {
            write("stop\n");
        }
    }
}
