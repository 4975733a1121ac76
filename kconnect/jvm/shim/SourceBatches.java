package kconnect.shim;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One source task, asked for a batch at a time. `poll` keeps what the task gave; `convert` takes it through the chain into one
 * buffer, up to the first record that fails; `committed` says what Kafka has. That call and `stop` may come from threads of their
 * own, all others come from the task's thread.
 */
public final class SourceBatches {
    private static final Logger LOG = LoggerFactory.getLogger(SourceBatches.class);

    private final SourceTask task;
    private final Chain chain;
    private final ClassLoader loader;
    private final boolean hears;
    private final Out out = new Out();
    private final RecordWriter writer = new RecordWriter();
    private final JsonConverter json = new JsonConverter();
    private final JsonConverter withSchemas = new JsonConverter();
    private SourceRecord[] polled = new SourceRecord[0];
    /** Those that the task has not heard of yet, by their numbers; only if it wants to hear. */
    private final Map unheard = new ConcurrentHashMap();
    /** Held while the task hears of a record: once `stop` has returned it hears of none. */
    private final Object hearing = new Object();

    private boolean stopped;
    private boolean toldOfNulls;
    private ConnectException refusal;
    /** Of the next record, counted from 0 on and around 2^31. */
    private int number;

    private Failure failure;

    public SourceBatches(SourceTask task, Chain chain) throws Exception {
        this.task = task;
        this.chain = chain;
        this.loader = Loaders.of(task);
        this.hears = overrides(task.getClass());
        json.configure(Collections.singletonMap("schemas.enable", "false"), false);
        withSchemas.configure(Collections.singletonMap("schemas.enable", "true"), false);
    }

    /** Whether the task wants to hear of each record that Kafka has. */
    public boolean hears() {
        return hears;
    }

    /** How many records the task gave. */
    public int poll() throws InterruptedException {
        if (refusal != null) {
            throw refusal;
        }
        ClassLoader before = Loaders.enter(loader);
        try {
            List given = task.poll();
            polled = given == null ? new SourceRecord[0] : records(given);
        } finally {
            Loaders.enter(before);
        }
        for (int at = 0; hears && at < polled.length; at++) {
            unheard.put(Integer.valueOf((number + at) & Integer.MAX_VALUE), polled[at]);
        }
        number = (number + polled.length) & Integer.MAX_VALUE;
        return polled.length;
    }

    /**
     * What `poll` gave; no other thing may be in it, which Java's generics don't keep out. As in Connect, nulls are left out,
     * and what comes before such a thing goes to Kafka before the task fails of it: at the next call.
     */
    private SourceRecord[] records(List given) {
        Object[] all = given.toArray();
        SourceRecord[] records = new SourceRecord[all.length];
        int count = 0;
        for (int at = 0; at < all.length; at++) {
            if (all[at] instanceof SourceRecord) {
                records[count++] = (SourceRecord) all[at];
            } else if (all[at] != null) {
                refusal = new ConnectException(task.getClass().getName() + ".poll() returned a "
                        + all[at].getClass().getName()
                        + " as record " + (at + 1) + " of " + all.length
                        + ", but must return a list of SourceRecord, or null if there are none");
                break;
            }
        }
        if (refusal != null) {
            if (count == 0) {
                throw refusal;
            }
            return (SourceRecord[]) Arrays.copyOf(records, count);
        }
        if (count < all.length && !toldOfNulls) {
            toldOfNulls = true;
            LOG.warn(
                    "{}.poll() returned null as {} of {} records, which are left out; this is logged once",
                    task.getClass().getName(),
                    Integer.valueOf(all.length - count),
                    Integer.valueOf(all.length));
        }
        return count == all.length ? records : (SourceRecord[]) Arrays.copyOf(records, count);
    }

    /** Where a record is in the last `poll`; -1 if it is not. */
    public int indexOf(SourceRecord record) {
        for (int at = 0; at < polled.length; at++) {
            if (polled[at] == record) {
                return at;
            }
        }
        return -1;
    }

    /** The messages of the records `from` to `to` (exclusive), or to the one before the first that fails; see `failure`. */
    public ByteBuffer convert(int from, int to) {
        ClassLoader before = Loaders.enter(loader);
        out.clear();
        failure = null;
        int at = from;
        try {
            for (; at < to; at++) {
                convert(at);
            }
        } catch (Throwable error) {
            failure = chain.failed(at, error);
        } finally {
            Loaders.enter(before);
        }
        return out.written(at - from, failure != null, offsets(from, at));
    }

    /** The records `from` to `to` (exclusive) as they are, for Python: bytes as `RecordWriter` describes them. */
    public ByteBuffer records(int from, int to) {
        int[] numbers = new int[to - from];
        for (int at = 0; at < numbers.length; at++) {
            numbers[at] = from + at;
        }
        return writer.write((ConnectRecord[]) Arrays.copyOfRange(polled, from, to), numbers, false);
    }

    /** Of each source partition of these the last offset: JSON, a list of pairs. */
    public byte[] newest(int from, int to) {
        return offsets(from, to);
    }

    /**
     * Which record from `from` on is the first that may not be counted if `failed` has failed: one that has the same source
     * partition and offset, behind which a task would go on. As `beginning` in `core/task/source_offsets.py`.
     */
    public int beginning(int from, int failed) {
        if (failed >= polled.length) {
            return failed;
        }
        Map partition = polled[failed].sourcePartition();
        Map offset = polled[failed].sourceOffset();
        for (int at = from; partition != null && offset != null && at < failed; at++) {
            if (offset.equals(polled[at].sourceOffset()) && partition.equals(polled[at].sourcePartition())) {
                return at;
            }
        }
        return failed;
    }

    /** Python could not read the last `records`. */
    public void reset() {
        writer.reset();
    }

    /** What stopped the last `convert`; null if nothing did. */
    public Failure failure() {
        return failure;
    }

    /** Topic, partition, source partition and offset, key and value of a record, as JSON with schemas; for reports. */
    public String[] described(int index) {
        SourceRecord record = polled[index];
        String place = text(json.fromConnectData("", null, Arrays.asList(new Object[] {
            record.topic(),
            record.kafkaPartition(),
            record.timestamp(),
            storable(record.sourcePartition()),
            storable(record.sourceOffset())
        })));
        return new String[] {
            place,
            text(shown(record.topic(), record.keySchema(), record.key())),
            text(shown(record.topic(), record.valueSchema(), record.value())),
        };
    }

    /** What is no data of Connect's, which may be why there is a report, as the text that Java makes of it; else its class. */
    private byte[] shown(String topic, Schema schema, Object value) {
        try {
            return withSchemas.fromConnectData(topic, schema, value);
        } catch (RuntimeException error) {
            return textOf(topic, value);
        } catch (StackOverflowError error) {
            return textOf(topic, value);
        }
    }

    private byte[] textOf(String topic, Object value) {
        String text;
        try {
            text = String.valueOf(value);
        } catch (RuntimeException error) {
            text = value.getClass().getName();
        } catch (StackOverflowError error) {
            text = value.getClass().getName();
        }
        return withSchemas.fromConnectData(topic, Schema.STRING_SCHEMA, text);
    }

    /**
     * Kafka has the records of these numbers, or they were dropped: then their offset is -2. The other columns say where each
     * one is.
     */
    public void committed(
            int[] numbers, int[] topicOf, int[] partitions, String[] topics, long[] offsets, long[] timestamps) {
        ClassLoader before = Loaders.enter(loader);
        TopicPartition place = null;
        try {
            for (int at = 0; at < numbers.length; at++) {
                SourceRecord record = (SourceRecord) unheard.remove(Integer.valueOf(numbers[at]));
                RecordMetadata metadata = null;
                if (offsets[at] != -2) {
                    String topic = topics[topicOf[at]];
                    if (place == null
                            || place.partition() != partitions[at]
                            || !place.topic().equals(topic)) {
                        place = new TopicPartition(topic, partitions[at]);
                    }
                    metadata = new RecordMetadata(place, offsets[at], 0, timestamps[at], -1, -1);
                }
                hear(record, metadata);
            }
        } finally {
            Loaders.enter(before);
        }
    }

    private void hear(SourceRecord record, RecordMetadata metadata) {
        synchronized (hearing) {
            if (!stopped) {
                try {
                    task.commitRecord(record, metadata);
                } catch (Exception error) {
                    LOG.error("The task's commitRecord() failed", error);
                }
            }
        }
    }

    /** Stops the task, which may hear of records meanwhile, and of none afterwards. */
    public void stop() {
        try {
            task.stop();
        } finally {
            synchronized (hearing) {
                stopped = true;
            }
        }
    }

    /** The offsets of all records that the task has heard of are stored. */
    public void commit() throws InterruptedException {
        ClassLoader before = Loaders.enter(loader);
        try {
            task.commit();
        } finally {
            Loaders.enter(before);
        }
    }

    private void convert(int index) {
        ConnectRecord record = chain.transform(polled[index]);
        if (record != null) {
            require(record, index);
            chain.convert(record, index, out);
        }
    }

    /** What Kafka's client refuses, in Connect too: behind the transforms, which may have mended it, or not. */
    private void require(ConnectRecord record, int index) {
        Integer partition = record.kafkaPartition();
        Long timestamp = record.timestamp();
        String refusal = null;
        if (record.topic() == null) {
            refusal = "Topic cannot be null.";
        } else if (partition != null && partition.intValue() < 0) {
            refusal = "Invalid partition: " + partition + ". Partition number should always be non-negative or null.";
        } else if (timestamp != null && timestamp.longValue() < -1) {
            refusal = "Invalid record timestamp " + timestamp + ". It should be milliseconds since 1970, or null.";
        }
        if (refusal != null) {
            chain.atProducer();
            throw new DataException(refusal + " This is record " + (index + 1) + " of the " + polled.length + " that "
                    + task.getClass().getName() + ".poll() returned, behind the transforms.");
        }
    }

    /** Of each source partition the last offset, also of records that were dropped on the way. */
    private byte[] offsets(int from, int to) {
        Map newest = new LinkedHashMap();
        Map last = null;
        for (int at = to - 1; at >= from; at--) {
            SourceRecord record = polled[at];
            Map partition = record.sourcePartition();
            // Tasks mostly share one map among their records.
            if (partition != null && partition != last && !newest.containsKey(partition)) {
                newest.put(partition, record.sourceOffset());
                last = partition;
            }
        }
        List pairs = new ArrayList();
        for (Object each : newest.entrySet()) {
            Map.Entry entry = (Map.Entry) each;
            pairs.add(Arrays.asList(new Object[] {storable((Map) entry.getKey()), storable((Map) entry.getValue())}));
        }
        return json.fromConnectData("", null, pairs);
    }

    /**
     * A source partition or offset as JSON can carry it. What is no value that Connect stores, as its OffsetUtils has it, is a
     * list with the name of its class: Python refuses that where the offset is to be stored, and the records are sent, as in Connect.
     */
    private static Map storable(Map fields) {
        if (fields == null) {
            return null;
        }
        Map plain = new LinkedHashMap();
        for (Object each : fields.entrySet()) {
            Map.Entry entry = (Map.Entry) each;
            Object value = entry.getValue();
            Schema.Type type = value == null ? null : ConnectSchema.schemaType(value.getClass());
            if (!(entry.getKey() instanceof String)) {
                plain.put("(its name is no String)", Collections.singletonList(""));
            } else if (value == null || (type != null && type.isPrimitive())) {
                plain.put(entry.getKey(), value);
            } else {
                plain.put(
                        entry.getKey(),
                        Collections.singletonList(value.getClass().getName()));
            }
        }
        return plain;
    }

    private static String text(byte[] json) {
        return json == null ? null : new String(json, java.nio.charset.StandardCharsets.UTF_8);
    }

    private static boolean overrides(Class task) throws Exception {
        Class[] parameters = new Class[] {SourceRecord.class, RecordMetadata.class};
        return task.getMethod("commitRecord", parameters).getDeclaringClass() != SourceTask.class;
    }
}
