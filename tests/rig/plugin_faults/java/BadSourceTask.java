package faulty;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Misbehaves in the call that its settings name. */
public final class BadSourceTask extends SourceTask {
    private Map config;
    private String[] chosen = new String[] {"", ""};
    private long number;

    public String version() {
        return "1.0";
    }

    public void start(Map properties) {
        config = new HashMap(properties);
        chosen = Faults.chosen(properties, "fault.");
        Faults.at("source.start", chosen, new Object[] {properties}, context);
    }

    public List poll() throws InterruptedException {
        Thread.sleep(
                config.containsKey("fault.pause.ms") ? Long.parseLong((String) config.get("fault.pause.ms")) : 200L);
        number++;
        // The first records tell that everything works until then.
        if (number > 3) {
            Faults.at("source.poll", chosen, new Object[0], context);
        }
        Map partition = new HashMap(Collections.singletonMap("bad", "1"));
        Map offset = new HashMap(Collections.singletonMap("number", Long.valueOf(number)));
        SourceRecord record = new SourceRecord(
                partition, offset, (String) config.get("topic"), Integer.valueOf(0), Schema.STRING_SCHEMA, "bad");
        return new ArrayList(Collections.singletonList(record));
    }

    public void commit() {
        Faults.at("source.commit", chosen, new Object[0], context);
    }

    public void commitRecord(SourceRecord record, RecordMetadata metadata) {
        Faults.at("source.commit_record", chosen, new Object[] {record}, context);
    }

    public void stop() {
        Faults.at("source.stop", chosen, new Object[0], context);
    }
}
