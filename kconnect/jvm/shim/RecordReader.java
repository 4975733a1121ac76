package kconnect.shim;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;

/** Records of a batch from Python, as `RecordWriter` describes them. */
public final class RecordReader {
    private static final int HEAD = 32;
    private static final TimestampType[] KINDS = TimestampType.values();
    private final SchemaReader schemas = new SchemaReader();
    private final ColumnReader columns = new ColumnReader(schemas);
    private ByteBuffer in;
    private int[] numbers = new int[0];

    /** Of each record of the last batch, which record it was made of. */
    public int[] numbers() {
        return numbers;
    }

    /**
     * The records. With those that they were made of, they are new ones of these, which keep what does not cross; else they are
     * a source's, or a sink's if they are whole.
     */
    public ConnectRecord[] read(ByteBuffer given, ConnectRecord[] origins) {
        in = given.order(ByteOrder.nativeOrder());
        int count = in.getInt(0);
        boolean whole = in.getInt(4) != 0;
        in.position(in.getInt(24));
        schemas.read(in, in.getInt(16), in.getInt(20));
        in.position(HEAD);
        columns.begin(in);
        Object[] topics = columns.texts(in.getInt(12));
        numbers = columns.ints(count);
        int[] topicOf = columns.ints(count);
        Object[] partitions = columns.column(Schema.OPTIONAL_INT32_SCHEMA, count);
        Object[] timestamps = columns.column(Schema.OPTIONAL_INT64_SCHEMA, count);
        long[] offsets = null;
        byte[] kinds = new byte[count];
        int[] originalTopicOf = null;
        int[] originalPartitions = null;
        long[] originalOffsets = null;
        if (whole) {
            offsets = longs(count);
            in.get(kinds);
            originalTopicOf = columns.ints(count);
            originalPartitions = columns.ints(count);
            originalOffsets = longs(count);
        }
        Schema[] ofKeys = new Schema[count];
        Object[] keys = pairs(ofKeys);
        Schema[] ofValues = new Schema[count];
        Object[] values = pairs(ofValues);
        ConnectHeaders[] headers = headers(count, in.getInt(8) != 0);
        ConnectRecord[] records = new ConnectRecord[count];
        for (int at = 0; at < count; at++) {
            String topic = name(topics, topicOf[at]);
            Integer partition = (Integer) partitions[at];
            Long timestamp = (Long) timestamps[at];
            if (origins != null) {
                records[at] = origins[numbers[at]].newRecord(
                        topic, partition, ofKeys[at], keys[at], ofValues[at], values[at], timestamp, headers[at]);
            } else if (whole) {
                records[at] = new SinkRecord(
                        topic,
                        partition.intValue(),
                        ofKeys[at],
                        keys[at],
                        ofValues[at],
                        values[at],
                        offsets[at],
                        timestamp,
                        KINDS[kinds[at]],
                        headers[at],
                        name(topics, originalTopicOf[at]),
                        Integer.valueOf(originalPartitions[at]),
                        originalOffsets[at]);
            } else {
                records[at] = new SourceRecord(
                        (Map) null,
                        (Map) null,
                        topic,
                        partition,
                        ofKeys[at],
                        keys[at],
                        ofValues[at],
                        values[at],
                        timestamp,
                        headers[at]);
            }
        }
        return records;
    }

    private static String name(Object[] topics, int number) {
        return number < 0 ? null : (String) topics[number];
    }

    private Object[] pairs(Schema[] ofValues) {
        int count = ofValues.length;
        int groups = in.getInt();
        int[] which = groups > 1 ? columns.ints(count) : new int[count];
        Object[] values = new Object[count];
        for (int group = 0; group < groups; group++) {
            int number = in.getInt();
            Schema schema = number < 0 ? null : schemas.of(number);
            int own = groups > 1 ? in.getInt() : count;
            ColumnReader.spread(values, which, group, columns.column(schema, own));
            for (int at = 0; at < count; at++) {
                if (which[at] == group) {
                    ofValues[at] = schema;
                }
            }
        }
        return values;
    }

    private ConnectHeaders[] headers(int count, boolean some) {
        ConnectHeaders[] headers = new ConnectHeaders[count];
        int[] counts = some ? columns.ints(count) : new int[count];
        int total = 0;
        for (int at = 0; at < count; at++) {
            headers[at] = new ConnectHeaders();
            total += counts[at];
        }
        if (!some) {
            return headers;
        }
        Object[] names = columns.texts(total);
        Schema[] ofValues = new Schema[total];
        Object[] values = pairs(ofValues);
        int next = 0;
        for (int at = 0; at < count; at++) {
            for (int left = counts[at]; left > 0; left--) {
                headers[at].add((String) names[next], values[next], ofValues[next]);
                next++;
            }
        }
        return headers;
    }

    private long[] longs(int count) {
        long[] column = new long[count];
        in.asLongBuffer().get(column);
        in.position(in.position() + 8 * count);
        return column;
    }
}
