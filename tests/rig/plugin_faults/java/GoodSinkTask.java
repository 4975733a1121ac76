package faulty;

import java.io.FileWriter;
import java.io.IOException;
import java.util.Collection;
import java.util.Map;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** A line for each value, with the process. */
public final class GoodSinkTask extends SinkTask {
    private String file;

    public String version() {
        return "1.0";
    }

    public void start(Map properties) {
        file = (String) properties.get("file");
    }

    public void put(Collection records) {
        StringBuilder lines = new StringBuilder();
        for (Object each : records) {
            lines.append(((SinkRecord) each).value() + " " + Faults.pid() + "\n");
        }
        try {
            FileWriter out = new FileWriter(file, true);
            out.write(lines.toString());
            out.close();
        } catch (IOException error) {
            throw new ConnectException(error);
        }
    }

    public void stop() {}
}
