package rig;

import java.lang.reflect.Field;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.connect.runtime.WorkerSinkTaskContext;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** Each batch goes to the topic `to` in a transaction of the task's own, with the offsets: as Iceberg's sink does it. */
public final class CopyingTask extends SinkTask {
    private KafkaProducer producer;
    private Consumer consumer;
    private String topic;

    public String version() {
        return "1.2.3";
    }

    public void start(Map properties) {
        topic = (String) properties.get("to");
        Map settings = new HashMap();
        settings.put("bootstrap.servers", properties.get("servers"));
        settings.put("transactional.id", "copying-" + topic);
        producer = new KafkaProducer(settings, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        try {
            Field field = WorkerSinkTaskContext.class.getDeclaredField("consumer");
            field.setAccessible(true);
            consumer = (Consumer) field.get(context);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Its own word counts, whoever else may have moved the group. */
    public void open(Collection partitions) {
        Map found = consumer.committed(new HashSet(partitions));
        for (Object each : found.entrySet()) {
            Map.Entry entry = (Map.Entry) each;
            if (entry.getValue() != null) {
                context.offset((TopicPartition) entry.getKey(), ((OffsetAndMetadata) entry.getValue()).offset());
            }
        }
    }

    public void put(Collection records) {
        if (records.isEmpty()) {
            return;
        }
        Map offsets = new HashMap();
        producer.beginTransaction();
        for (Object each : records) {
            SinkRecord record = (SinkRecord) each;
            producer.send(new ProducerRecord(topic, null, String.valueOf(record.value())));
            offsets.put(
                    new TopicPartition(
                            record.originalTopic(),
                            record.originalKafkaPartition().intValue()),
                    new OffsetAndMetadata(record.originalKafkaOffset() + 1));
        }
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        producer.commitTransaction();
    }

    /** They are committed already. */
    public Map preCommit(Map offsets) {
        return Collections.emptyMap();
    }

    public void stop() {
        if (producer != null) {
            producer.close();
        }
    }
}
