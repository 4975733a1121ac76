package kconnect.shim;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Messages for Kafka in one direct buffer, column by column, in this machine's byte order. `source_task.py` reads it:
 *
 *   int messages, looked, failed (0 or 1), topics, bytes of keys and values, has headers (0 or 1), bytes of offsets, 0
 *   long timestamp * messages           0: none
 *   int origin * messages               which record of the batch it was made of
 *   int topic * messages                which of the topics
 *   int partition * messages            -1: the partitioner's choice
 *   int length of key * messages        -1: null
 *   int length of value * messages      -1: null
 *   topics                              each an int length, and UTF-8
 *   keys and values                     of each message its key, then its value
 *   headers, if there are some          of each message an int count, then of each header length, name, length or -1, value
 *   offsets                             JSON: a list of pairs of source partition and source offset
 */
final class Out {
    private static final int HEAD = 32;
    private ByteBuffer buffer = allocate(1 << 16);
    private static final Logger LOG = LoggerFactory.getLogger(Out.class);
    private static boolean told;
    private int messages;
    private long[] timestamps = new long[512];
    private int[] origins = new int[512];
    private int[] topicOf = new int[512];
    private int[] partitions = new int[512];
    private byte[][] keys = new byte[512][];
    private byte[][] values = new byte[512][];
    private Headers[] headers = new Headers[512];
    private boolean hasHeaders;
    private long size;
    private final Map topicNumbers = new HashMap();
    private byte[][] topics = new byte[8][];
    private int topicCount;
    private String lastTopic;
    private int lastNumber;

    static ByteBuffer allocate(int size) {
        return ByteBuffer.allocateDirect(size).order(ByteOrder.nativeOrder());
    }

    void clear() {
        Arrays.fill(keys, 0, messages, null);
        Arrays.fill(values, 0, messages, null);
        Arrays.fill(headers, 0, messages, null);
        messages = 0;
        size = 0;
        hasHeaders = false;
        topicNumbers.clear();
        topicCount = 0;
        lastTopic = null;
    }

    void add(int origin, String topic, Integer partition, Long timestamp, byte[] key, byte[] value, Headers with) {
        int at = messages;
        if (at == origins.length) {
            grow(2 * at);
        }
        origins[at] = origin;
        topicOf[at] = number(topic);
        partitions[at] = partition == null ? -1 : partition.intValue();
        timestamps[at] = timestamp == null || timestamp.longValue() == -1 ? 0 : timestamp.longValue();
        if (timestamp != null && timestamp.longValue() == 0) {
            // Python's client takes 0 for none: see core/task/destination.py.
            timestamps[at] = 1;
            if (!told) {
                told = true;
                LOG.warn("A source record has the timestamp 0 (1970-01-01T00:00:00.000Z). It is sent as 1, which is a"
                        + " millisecond later: Kafka's client takes 0 for none. The same goes for others like it"
                        + " (logged once)");
            }
        }
        keys[at] = key;
        values[at] = value;
        size += (key == null ? 0 : key.length) + (value == null ? 0 : value.length);
        if (with != null) {
            headers[at] = with;
            hasHeaders = true;
        }
        messages = at + 1;
    }

    ByteBuffer written(int looked, boolean failed, byte[] offsets) {
        byte[] packed = hasHeaders ? packedHeaders() : new byte[0];
        long all = HEAD + 28L * messages + size + packed.length + offsets.length;
        for (int number = 0; number < topicCount; number++) {
            all += 4 + topics[number].length;
        }
        if (all > Integer.MAX_VALUE - 8) {
            throw new OutOfMemoryError(
                    "A batch of " + messages + " records has " + all + " bytes, more than the 2 GiB of a buffer");
        }
        if (buffer.capacity() < all) {
            buffer = allocate((int) Math.min(Integer.MAX_VALUE - 8, all + all / 4));
        }
        ByteBuffer out = buffer;
        out.clear();
        out.putInt(messages).putInt(looked).putInt(failed ? 1 : 0).putInt(topicCount);
        out.putInt((int) size).putInt(hasHeaders ? 1 : 0).putInt(offsets.length).putInt(0);
        out.asLongBuffer().put(timestamps, 0, messages);
        out.position(HEAD + 8 * messages);
        column(out, origins);
        column(out, topicOf);
        column(out, partitions);
        for (int at = 0; at < messages; at++) {
            out.putInt(keys[at] == null ? -1 : keys[at].length);
        }
        for (int at = 0; at < messages; at++) {
            out.putInt(values[at] == null ? -1 : values[at].length);
        }
        for (int number = 0; number < topicCount; number++) {
            out.putInt(topics[number].length).put(topics[number]);
        }
        for (int at = 0; at < messages; at++) {
            if (keys[at] != null) {
                out.put(keys[at]);
            }
            if (values[at] != null) {
                out.put(values[at]);
            }
        }
        out.put(packed).put(offsets);
        out.flip();
        return out;
    }

    private void column(ByteBuffer out, int[] column) {
        out.asIntBuffer().put(column, 0, messages);
        out.position(out.position() + 4 * messages);
    }

    private int number(String topic) {
        // Mostly each record of a task names the very same object.
        if (topic == lastTopic) {
            return lastNumber;
        }
        Integer known = (Integer) topicNumbers.get(topic);
        if (known == null) {
            if (topicCount == topics.length) {
                topics = (byte[][]) Arrays.copyOf(topics, 2 * topicCount);
            }
            topics[topicCount] = topic.getBytes(StandardCharsets.UTF_8);
            known = Integer.valueOf(topicCount++);
            topicNumbers.put(topic, known);
        }
        lastTopic = topic;
        lastNumber = known.intValue();
        return lastNumber;
    }

    private byte[] packedHeaders() {
        int length = 4 * messages;
        for (int at = 0; at < messages; at++) {
            if (headers[at] != null) {
                for (Object each : headers[at]) {
                    Header header = (Header) each;
                    byte[] value = header.value();
                    length += 8 + utf8(header.key()).length + (value == null ? 0 : value.length);
                }
            }
        }
        ByteBuffer packed = ByteBuffer.allocate(length).order(ByteOrder.nativeOrder());
        for (int at = 0; at < messages; at++) {
            if (headers[at] == null) {
                packed.putInt(0);
                continue;
            }
            Header[] all = headers[at].toArray();
            packed.putInt(all.length);
            for (int each = 0; each < all.length; each++) {
                byte[] name = utf8(all[each].key());
                byte[] value = all[each].value();
                packed.putInt(name.length).put(name).putInt(value == null ? -1 : value.length);
                if (value != null) {
                    packed.put(value);
                }
            }
        }
        return packed.array();
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private void grow(int size) {
        timestamps = Arrays.copyOf(timestamps, size);
        origins = Arrays.copyOf(origins, size);
        topicOf = Arrays.copyOf(topicOf, size);
        partitions = Arrays.copyOf(partitions, size);
        keys = (byte[][]) Arrays.copyOf(keys, size);
        values = (byte[][]) Arrays.copyOf(values, size);
        headers = (Headers[]) Arrays.copyOf(headers, size);
    }
}
