package kconnect.shim;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/**
 * One sink task, given a batch at a time. Messages come in one direct buffer, column by column, in this machine's byte order:
 *
 *   int messages, topics, flags, partition of the first
 *   long offset * messages
 *   long kind of timestamp, timestamp * messages  0: none, 1: of its creation, 2: of the broker's log
 *   int length of value * messages    -1: null
 *   int topic * messages              which of the topics, if there are several
 *   int partition * messages          if flag 4 is set, else all are of the first one's
 *   int length of key * messages      -1: null; if flag 2 is set, else no message has one
 *   topics                            each an int length, and UTF-8
 *   keys and values                   of each message its key, then its value
 *   headers, if flag 1 is set         of each message an int count, then of each header length, name, length or -1, value
 *
 * `convert` takes them through the chain, up to the first that fails; what is left of them waits until `put`. All calls come
 * from the task's thread.
 */
public final class SinkBatches {
    private static final int HEADERS = 1;
    private static final int KEYS = 2;
    private static final int PARTITIONS = 4;
    private static final TimestampType[] KINDS = {
        TimestampType.NO_TIMESTAMP_TYPE, TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME
    };
    private final SinkTask task;
    private final Chain chain;
    private final ClassLoader loader;
    private final RecordReader reader = new RecordReader();
    private ByteBuffer in;
    private SinkRecord[] made = new SinkRecord[0];
    private Failure failure;
    private int messages;
    private long[] offsets;
    private long[] moments;
    private int[] topicOf;
    private int[] partitions;
    private int[] keyLengths;
    private int[] valueLengths;
    private String[] topics;
    private int[] starts;
    private int[] headerStarts;
    /** Converted, and not taken by `put` yet. */
    private List waiting = new ArrayList();

    public SinkBatches(SinkTask task, Chain chain) {
        this.task = task;
        this.chain = chain;
        this.loader = Loaders.of(task);
    }

    /** The next batch: `convert` goes on from there. It is read until `end`. */
    public void begin(ByteBuffer batch) {
        in = batch.order(ByteOrder.nativeOrder());
        messages = in.getInt();
        topics = new String[in.getInt()];
        int flags = in.getInt();
        boolean hasHeaders = (flags & HEADERS) != 0;
        int partition = in.getInt();
        offsets = longs(messages);
        moments = longs(2 * messages);
        valueLengths = ints();
        topicOf = topics.length > 1 ? ints() : new int[messages];
        partitions = (flags & PARTITIONS) != 0 ? ints() : all(partition);
        keyLengths = (flags & KEYS) != 0 ? ints() : all(-1);
        for (int number = 0; number < topics.length; number++) {
            topics[number] = text(in.getInt());
        }
        starts = new int[messages];
        int at = in.position();
        for (int index = 0; index < messages; index++) {
            starts[index] = at;
            at += Math.max(0, keyLengths[index]) + Math.max(0, valueLengths[index]);
        }
        in.position(at);
        headerStarts = hasHeaders ? new int[messages] : null;
        for (int index = 0; hasHeaders && index < messages; index++) {
            headerStarts[index] = in.position();
            for (int count = in.getInt(); count > 0; count--) {
                skip();
                skip();
            }
        }
        made = new SinkRecord[messages];
    }

    /** How many messages were looked at, from `from` on: all that are left, or those before the first that fails; see `failure`. */
    public int convert(int from) {
        ClassLoader before = Loaders.enter(loader);
        failure = null;
        int at = from;
        try {
            for (; at < messages; at++) {
                made[at] = convertOne(at);
            }
        } catch (Throwable error) {
            failure = chain.failed(at, error);
        } finally {
            Loaders.enter(before);
        }
        return at - from;
    }

    /** Another attempt at one that failed. False if it fails again; see `failure`. */
    public boolean convertAgain(int index) {
        int messagesBefore = messages;
        messages = index + 1;
        try {
            return convert(index) == 1;
        } finally {
            messages = messagesBefore;
        }
    }

    /** What stopped the last `convert`; null if nothing did. */
    public Failure failure() {
        return failure;
    }

    /** What came of the batch: a record or null for each message that was looked at. */
    SinkRecord[] made() {
        return made;
    }

    /** Have what came of the batch wait for `put`; which of its messages nothing came of, in order. */
    public int[] end() {
        int[] dropped = new int[messages];
        int count = 0;
        for (int index = 0; index < messages; index++) {
            if (made[index] == null) {
                dropped[count++] = index;
            } else {
                waiting.add(made[index]);
            }
        }
        made = new SinkRecord[0];
        in = null;
        return Arrays.copyOf(dropped, count);
    }

    /** These records, which Python has made of a batch, wait for `put`: bytes as `RecordWriter` describes them. */
    public void take(ByteBuffer batch) {
        ConnectRecord[] found = reader.read(batch, null);
        for (int at = 0; at < found.length; at++) {
            // What it was made of is Python's.
            waiting.add(Original.with((SinkRecord) found[at], null, null, new RecordHeaders()));
        }
    }

    /** Give the task all that waits, in a list of its own as in Connect: it may change that. If it throws, they wait on. */
    public void put() {
        ClassLoader before = Loaders.enter(loader);
        try {
            task.put(new ArrayList(waiting));
        } finally {
            Loaders.enter(before);
        }
        waiting.clear();
    }

    /** Of those that wait, keep these only. */
    public void keep(int[] which) {
        List kept = new ArrayList(which.length);
        for (int at = 0; at < which.length; at++) {
            kept.add(waiting.get(which[at]));
        }
        waiting = kept;
    }

    public Map preCommit(Map current) {
        ClassLoader before = Loaders.enter(loader);
        try {
            return task.preCommit(current);
        } finally {
            Loaders.enter(before);
        }
    }

    private SinkRecord convertOne(int index) {
        String topic = topics[topicOf[index]];
        in.position(starts[index]);
        byte[] rawKey = bytes(keyLengths[index]);
        byte[] rawValue = bytes(valueLengths[index]);
        RecordHeaders raw = new RecordHeaders();
        if (headerStarts != null) {
            in.position(headerStarts[index]);
            for (int count = in.getInt(); count > 0; count--) {
                String name = text(in.getInt());
                raw.add(name, bytes(in.getInt()));
            }
        }
        SchemaAndValue key = chain.toKey(topic, raw, rawKey);
        SchemaAndValue value = chain.toValue(topic, raw, rawValue);
        ConnectHeaders headers = new ConnectHeaders();
        if (headerStarts != null) {
            chain.atHeader();
            for (Object each : raw) {
                org.apache.kafka.common.header.Header header = (org.apache.kafka.common.header.Header) each;
                headers.add(header.key(), chain.header.toConnectHeader(topic, header.key(), header.value()));
            }
        }
        int kind = (int) moments[2 * index];
        Long timestamp = kind == 0 ? null : Long.valueOf(moments[2 * index + 1]);
        SinkRecord record = new SinkRecord(
                topic,
                partitions[index],
                key.schema(),
                key.value(),
                value.schema(),
                value.value(),
                offsets[index],
                timestamp,
                KINDS[kind],
                headers);
        SinkRecord transformed = (SinkRecord) chain.transform(record);
        return transformed == null ? null : Original.with(transformed, rawKey, rawValue, raw);
    }

    private long[] longs(int count) {
        long[] column = new long[count];
        in.asLongBuffer().get(column);
        in.position(in.position() + 8 * count);
        return column;
    }

    private int[] ints() {
        int[] column = new int[messages];
        in.asIntBuffer().get(column);
        in.position(in.position() + 4 * messages);
        return column;
    }

    private int[] all(int number) {
        int[] column = new int[messages];
        Arrays.fill(column, number);
        return column;
    }

    private byte[] bytes(int length) {
        if (length < 0) {
            return null;
        }
        byte[] found = new byte[length];
        in.get(found);
        return found;
    }

    private String text(int length) {
        return new String(bytes(length), StandardCharsets.UTF_8);
    }

    private void skip() {
        int length = in.getInt();
        in.position(in.position() + Math.max(0, length));
    }
}
