package kconnect.shim;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;

/**
 * Records of a batch for Python, column by column in this machine's byte order; `record_codec.py` reads it, and writes the
 * same for `RecordReader`. Columns and texts are described in `ColumnWriter`, schemas in `SchemaWriter`.
 *
 *   int records, whole (0 or 1), have headers (0 or 1), topics, schemas known before, new schemas, place of these, 0
 *   texts of the topics
 *   int number * records             which record of the batch it was made of
 *   int topic * records              which of the topics; -1: null
 *   column of partitions (INT32), column of timestamps (INT64)
 *   if whole, which a sink's are the first time that they cross:
 *     long offset * records, byte kind of timestamp * records
 *     int original topic, int original partition, long original offset * records
 *   pairs of key schemas and keys, pairs of value schemas and values
 *   if they have headers: int count * records, texts of all names, pairs of their schemas and values
 *   descriptions of the new schemas
 *
 *   pairs: int groups, which group each value is in (if there are several), and for each group the number of its schema or
 *   -1, how many values (if there are several), and a column of them
 */
public final class RecordWriter {
    private static final int HEAD = 32;
    private final Bytes out = new Bytes(1 << 16);
    private final SchemaWriter schemas = new SchemaWriter();
    private final ColumnWriter columns = new ColumnWriter(out, schemas);

    /** DataException, naming the first of them that can't cross. The buffer is the same each time. */
    public ByteBuffer write(ConnectRecord[] records, int[] numbers, boolean whole) {
        try {
            return written(records, numbers, whole);
        } catch (RuntimeException error) {
            schemas.reset();
            throw Misfit.among(records, numbers, error);
        } catch (StackOverflowError error) {
            schemas.reset();
            throw Misfit.among(records, numbers, error);
        }
    }

    /** Python could not read the last batch. */
    public void reset() {
        schemas.reset();
    }

    private ByteBuffer written(ConnectRecord[] records, int[] numbers, boolean whole) {
        int count = records.length;
        schemas.begin();
        out.buffer.clear();
        out.room(HEAD).position(HEAD);
        Map topics = new HashMap();
        List names = new ArrayList();
        int[] topicOf = new int[count];
        int[] originalTopicOf = new int[whole ? count : 0];
        Object[] partitions = new Object[count];
        Object[] timestamps = new Object[count];
        Object[] keys = new Object[count];
        Object[] values = new Object[count];
        Schema[] keySchemas = new Schema[count];
        Schema[] valueSchemas = new Schema[count];
        boolean hasHeaders = false;
        for (int at = 0; at < count; at++) {
            ConnectRecord record = records[at];
            topicOf[at] = topic(topics, names, record.topic());
            if (whole) {
                originalTopicOf[at] = topic(topics, names, ((SinkRecord) record).originalTopic());
            }
            partitions[at] = record.kafkaPartition();
            timestamps[at] = record.timestamp();
            keySchemas[at] = record.keySchema();
            keys[at] = record.key();
            valueSchemas[at] = record.valueSchema();
            values[at] = record.value();
            hasHeaders |= !record.headers().isEmpty();
        }
        out.texts(names.toArray());
        out.ints(numbers, count);
        out.ints(topicOf, count);
        columns.column(Schema.OPTIONAL_INT32_SCHEMA, partitions);
        columns.column(Schema.OPTIONAL_INT64_SCHEMA, timestamps);
        if (whole) {
            places(records, originalTopicOf);
        }
        pairs(keySchemas, keys);
        pairs(valueSchemas, values);
        if (hasHeaders) {
            headers(records);
        }
        int place = out.buffer.position();
        ByteBuffer described = schemas.described();
        ByteBuffer all = out.room(described.limit());
        all.put(described);
        all.flip();
        all.putInt(0, count)
                .putInt(4, whole ? 1 : 0)
                .putInt(8, hasHeaders ? 1 : 0)
                .putInt(12, names.size());
        all.putInt(16, schemas.before())
                .putInt(20, schemas.added())
                .putInt(24, place)
                .putInt(28, 0);
        return all;
    }

    private static int topic(Map topics, List names, String topic) {
        if (topic == null) {
            return -1;
        }
        Integer number = (Integer) topics.get(topic);
        if (number == null) {
            number = Integer.valueOf(names.size());
            topics.put(topic, number);
            names.add(topic);
        }
        return number.intValue();
    }

    private void places(ConnectRecord[] records, int[] originalTopicOf) {
        ByteBuffer to = out.room(25L * records.length);
        for (int at = 0; at < records.length; at++) {
            to.putLong(((SinkRecord) records[at]).kafkaOffset());
        }
        for (int at = 0; at < records.length; at++) {
            to.put((byte) ((SinkRecord) records[at]).timestampType().ordinal());
        }
        out.ints(originalTopicOf, records.length);
        for (int at = 0; at < records.length; at++) {
            to.putInt(((SinkRecord) records[at]).originalKafkaPartition().intValue());
        }
        for (int at = 0; at < records.length; at++) {
            to.putLong(((SinkRecord) records[at]).originalKafkaOffset());
        }
    }

    private void headers(ConnectRecord[] records) {
        int[] counts = new int[records.length];
        List names = new ArrayList();
        List values = new ArrayList();
        List ofValues = new ArrayList();
        for (int at = 0; at < records.length; at++) {
            for (Object each : records[at].headers()) {
                Header header = (Header) each;
                names.add(header.key());
                ofValues.add(header.schema());
                values.add(header.value());
                counts[at]++;
            }
        }
        out.ints(counts, counts.length);
        out.texts(names.toArray());
        pairs((Schema[]) ofValues.toArray(new Schema[0]), values.toArray());
    }

    private void pairs(Schema[] ofValues, Object[] values) {
        int count = values.length;
        int[] which = new int[count];
        int[] numbers = new int[count];
        int[] counts = new int[count];
        Schema[] first = new Schema[count];
        int groups = 0;
        Map groupOf = new HashMap();
        Schema last = null;
        int group = -1;
        for (int at = 0; at < count; at++) {
            Schema schema = ofValues[at];
            if (group < 0 || schema != last) {
                Integer number = Integer.valueOf(schema == null ? -1 : schemas.number(schema));
                Integer found = (Integer) groupOf.get(number);
                if (found == null) {
                    found = Integer.valueOf(groups);
                    groupOf.put(number, found);
                    numbers[groups] = number.intValue();
                    first[groups++] = schema;
                }
                group = found.intValue();
                last = schema;
            }
            which[at] = group;
            counts[group]++;
        }
        out.intOf(groups);
        if (groups > 1) {
            out.ints(which, count);
        }
        for (int each = 0; each < groups; each++) {
            out.intOf(numbers[each]);
            if (groups > 1) {
                out.intOf(counts[each]);
            }
            columns.column(first[each], groups == 1 ? values : ColumnWriter.only(values, which, each, counts[each]));
        }
    }
}
