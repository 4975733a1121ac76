package faulty;

import java.util.Collections;
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
        config = properties;
        chosen = Faults.chosen(properties, "fault.");
        Faults.at("source.start", chosen);
    }

    public List poll() throws InterruptedException {
        Thread.sleep(200);
        number++;
        // The first records tell that everything works until then.
        if (number > 3) {
            Faults.at("source.poll", chosen);
        }
        return Collections.singletonList(new SourceRecord(
            Collections.singletonMap("bad", "1"), Collections.singletonMap("number", Long.valueOf(number)), (String) config.get("topic"),
            Integer.valueOf(0), Schema.STRING_SCHEMA, "bad"));
    }

    public void commit() {
        Faults.at("source.commit", chosen);
    }

    public void commitRecord(SourceRecord record, RecordMetadata metadata) {
        Faults.at("source.commit_record", chosen);
    }

    public void stop() {
        Faults.at("source.stop", chosen);
    }
}
