package kconnect.shim;

import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.runtime.errors.ProcessingContext;
import org.apache.kafka.connect.sink.SinkRecord;

/**
 * The message that a sink record was made of. Connect gives tasks records of a class of its own that have it, and there are tasks
 * that look: Debezium's JDBC sink keeps its offsets by it. The message itself is made when somebody asks.
 */
final class Original extends ProcessingContext {
    private final SinkRecord record;
    private final byte[] key;
    private final byte[] value;
    private final RecordHeaders headers;

    private Original(SinkRecord record, byte[] key, byte[] value, RecordHeaders headers) {
        super(null);
        this.record = record;
        this.key = key;
        this.value = value;
        this.headers = headers;
    }

    /** The record as Connect gives it to a task. Key, value and headers are the message's, as they were read. */
    static SinkRecord with(SinkRecord record, byte[] key, byte[] value, RecordHeaders headers) {
        return new InternalSinkRecord(new Original(record, key, value, headers), record);
    }

    public Object original() {
        Long timestamp = record.timestamp();
        return new ConsumerRecord(
                record.originalTopic(),
                record.originalKafkaPartition().intValue(),
                record.originalKafkaOffset(),
                timestamp == null ? ConsumerRecord.NO_TIMESTAMP : timestamp.longValue(),
                record.timestampType(),
                key == null ? ConsumerRecord.NULL_SIZE : key.length,
                value == null ? ConsumerRecord.NULL_SIZE : value.length,
                key,
                value,
                headers,
                Optional.empty());
    }
}
