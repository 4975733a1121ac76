package kconnect.shim;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.connect.connector.ConnectRecord;

/**
 * The Java part of a chain that has parts in Python too, given a batch at a time: records or messages in, its transforms, and
 * records or messages out. Each way ends before the first that fails; see `failure`. `crossing.py` calls it.
 */
public final class Crossing {
    private static final byte[] NO_OFFSETS = "[]".getBytes(StandardCharsets.US_ASCII);
    private final Chain chain;
    private final RecordReader reader = new RecordReader();
    private final RecordWriter writer = new RecordWriter();
    private final SinkBatches messages;
    private final Out out = new Out();
    private ConnectRecord[] taken = new ConnectRecord[0];
    private Failure failure;

    public Crossing(Chain chain) {
        this.chain = chain;
        this.messages = new SinkBatches(null, chain);
    }

    /** The records of the next batch. */
    public void take(ByteBuffer batch) {
        taken = reader.read(batch, null);
    }

    /** What the transforms make of them, for Python. */
    public ByteBuffer records() {
        ConnectRecord[] made = new ConnectRecord[taken.length];
        ClassLoader before = Loaders.enter(Loaders.of(null));
        failure = null;
        int at = 0;
        try {
            for (; at < taken.length; at++) {
                made[at] = chain.transform(taken[at]);
            }
        } catch (Throwable error) {
            failure = chain.failed(at, error);
        } finally {
            Loaders.enter(before);
        }
        return written(made, at, false);
    }

    /** What transforms and converters make of them, for Kafka: bytes as `Out` describes them. */
    public ByteBuffer messages() {
        ClassLoader before = Loaders.enter(Loaders.of(null));
        out.clear();
        failure = null;
        int at = 0;
        try {
            for (; at < taken.length; at++) {
                ConnectRecord record = chain.transform(taken[at]);
                if (record != null) {
                    chain.convert(record, at, out);
                }
            }
        } catch (Throwable error) {
            failure = chain.failed(at, error);
        } finally {
            Loaders.enter(before);
        }
        return out.written(at, failure != null, NO_OFFSETS);
    }

    /** What converters and transforms make of messages from Kafka, which `SinkBatches` describes: whole records for Python. */
    public ByteBuffer received(ByteBuffer batch) {
        messages.begin(batch);
        int looked = messages.convert(0);
        failure = messages.failure();
        return written(messages.made(), looked, true);
    }

    /** What stopped the last batch; null if nothing did. */
    public Failure failure() {
        return failure;
    }

    /** Python could not read the last batch. */
    public void reset() {
        writer.reset();
    }

    private ByteBuffer written(ConnectRecord[] made, int count, boolean whole) {
        ConnectRecord[] kept = new ConnectRecord[count];
        int[] numbers = new int[count];
        int to = 0;
        for (int at = 0; at < count; at++) {
            if (made[at] != null) {
                kept[to] = made[at];
                numbers[to++] = at;
            }
        }
        return writer.write((ConnectRecord[]) Arrays.copyOf(kept, to), Arrays.copyOf(numbers, to), whole);
    }
}
