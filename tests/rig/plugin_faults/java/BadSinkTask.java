package faulty;

import java.util.Collection;
import java.util.HashMap;
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
        Faults.at("sink.start", chosen, new Object[] {properties}, context);
    }

    public void open(Collection partitions) {
        Faults.at("sink.open", chosen, new Object[] {partitions}, context);
    }

    public void put(Collection records) {
        if (!records.isEmpty()) {
            Faults.at("sink.put", chosen, new Object[] {records}, context);
        }
    }

    public Map preCommit(Map offsets) {
        Map answer = new HashMap(offsets);
        Faults.at("sink.pre_commit", chosen, new Object[] {offsets}, context);
        flush(new HashMap(answer));
        return answer;
    }

    public void flush(Map offsets) {
        Faults.at("sink.flush", chosen, new Object[] {offsets}, context);
    }

    public void close(Collection partitions) {
        Faults.at("sink.close", chosen, new Object[] {partitions}, context);
    }

    public void stop() {
        Faults.at("sink.stop", chosen, new Object[0], context);
    }
}
