package faulty;

import java.util.Collection;
import java.util.Map;
import org.apache.kafka.connect.sink.SinkTask;

/** Misbehaves in the call that its settings name. */
public final class BadSinkTask extends SinkTask {
    private String[] chosen = new String[] {"", ""};

    public String version() {
        return "1.0";
    }

    public void start(Map properties) {
        chosen = Faults.chosen(properties, "fault.");
        Faults.at("sink.start", chosen);
    }

    public void open(Collection partitions) {
        Faults.at("sink.open", chosen);
    }

    public void put(Collection records) {
        if (!records.isEmpty()) {
            Faults.at("sink.put", chosen);
        }
    }

    public Map preCommit(Map offsets) {
        Faults.at("sink.pre_commit", chosen);
        flush(offsets);
        return offsets;
    }

    public void flush(Map offsets) {
        Faults.at("sink.flush", chosen);
    }

    public void close(Collection partitions) {
        Faults.at("sink.close", chosen);
    }

    public void stop() {
        Faults.at("sink.stop", chosen);
    }
}
