package rig;

import java.io.FileOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.UUID;

/** One life of a task, in the journal that all lives on this machine share; `verifiable.py` has the same in Python. */
final class Life {
    final String id = ManagementFactory.getRuntimeMXBean().getPid() + "-"
            + UUID.randomUUID().toString().substring(0, 8);
    private final String unit;
    private final FileOutputStream file;

    Life(String directory, String unit) {
        this.unit = unit;
        this.file = appendTo(directory + "/journal.jsonl");
    }

    /** `facts` is the rest of a JSON object: empty, or with a comma before it. */
    void tell(String event, String facts) {
        // The machine's monotonic clock, as Python's time.monotonic(): events of different processes can be compared.
        double now = System.nanoTime() / 1e9;
        double time = System.currentTimeMillis() / 1e3;
        write(
                file,
                "{\"unit\":\"" + unit + "\",\"life\":\"" + id + "\",\"event\":\"" + event + "\",\"at\":"
                        + String.format(Locale.ROOT, "%.6f", new Object[] {Double.valueOf(now)}) + ",\"time\":"
                        + String.format(Locale.ROOT, "%.3f", new Object[] {Double.valueOf(time)}) + facts + "}\n");
    }

    static FileOutputStream appendTo(String path) {
        try {
            return new FileOutputStream(path, true);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    /** One write of the system, so that lines of several processes do not mix. */
    static void write(FileOutputStream to, String text) {
        try {
            to.write(text.getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }
}
