package kconnect.shim;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * The transforms and converters of one task, each configured already, or only some of its transforms: then the converters are
 * null. Remembers at which of them it is: that is what failed when a call throws something.
 */
public final class Chain {
    private static final class Step {
        String alias;
        Transformation transformation;
        Predicate predicate;
        boolean negate;
        ClassLoader loader;
        ClassLoader predicateLoader;
    }

    final Converter key;
    final Converter value;
    final HeaderConverter header;
    private final boolean keyIsPlain;
    private final boolean valueIsPlain;
    private final ClassLoader keyLoader;
    private final ClassLoader valueLoader;
    private final ClassLoader headerLoader;
    private final List steps = new ArrayList();
    private Step[] inOrder = new Step[0];
    private String stage = "";
    private String alias = "";
    private Object plugin = this;

    public Chain(Converter key, Converter value, HeaderConverter header) {
        this.key = key;
        this.value = value;
        this.header = header;
        this.keyLoader = Loaders.of(key);
        this.valueLoader = Loaders.of(value);
        this.headerLoader = Loaders.of(header);
        this.keyIsPlain = PlainJson.is(key);
        this.valueIsPlain = PlainJson.is(value);
    }

    SchemaAndValue toKey(String topic, RecordHeaders headers, byte[] data) {
        atKey();
        SchemaAndValue plain = keyIsPlain ? PlainJson.read(data) : null;
        return plain == null ? key.toConnectData(topic, headers, data) : plain;
    }

    SchemaAndValue toValue(String topic, RecordHeaders headers, byte[] data) {
        atValue();
        SchemaAndValue plain = valueIsPlain ? PlainJson.read(data) : null;
        return plain == null ? value.toConnectData(topic, headers, data) : plain;
    }

    /** The next transform; without a predicate it is for every record. */
    public void add(String alias, Transformation transformation, Predicate predicate, boolean negate) {
        Step step = new Step();
        step.alias = alias;
        step.transformation = transformation;
        step.predicate = predicate;
        step.negate = negate;
        step.loader = Loaders.of(transformation);
        step.predicateLoader = predicate == null ? null : Loaders.of(predicate);
        steps.add(step);
        inOrder = (Step[]) steps.toArray(new Step[0]);
    }

    /** The record as the last transform leaves it; null if one dropped it. */
    ConnectRecord transform(ConnectRecord record) {
        ConnectRecord current = record;
        for (int number = 0; number < inOrder.length && current != null; number++) {
            Step step = inOrder[number];
            at("TRANSFORMATION", step.alias, step.transformation);
            if (step.predicate != null) {
                plugin = step.predicate;
                Loaders.enter(step.predicateLoader);
                if (step.predicate.test(current) == step.negate) {
                    continue;
                }
                plugin = step.transformation;
            }
            Loaders.enter(step.loader);
            current = step.transformation.apply(current);
        }
        return current;
    }

    /** What goes to Kafka of a record of this number, as the converters have it. */
    void convert(ConnectRecord record, int number, Out out) {
        String topic = record.topic();
        RecordHeaders headers = new RecordHeaders();
        if (!record.headers().isEmpty()) {
            atHeader();
            for (Object each : record.headers()) {
                Header own = (Header) each;
                if (own.key() == null || own.key().indexOf(0) >= 0) {
                    throw new DataException(
                            "The name of a header is null, or has U+0000, where Kafka's client ends a name");
                }
                headers.add(own.key(), header.fromConnectHeader(topic, own.key(), own.schema(), own.value()));
            }
        }
        atKey();
        byte[] keyBytes = key.fromConnectData(topic, headers, record.keySchema(), record.key());
        atValue();
        byte[] valueBytes = value.fromConnectData(topic, headers, record.valueSchema(), record.value());
        Long timestamp = record.timestamp();
        if (timestamp != null && timestamp.longValue() < -1) {
            throw new DataException("Invalid record timestamp " + timestamp);
        }
        boolean none = timestamp != null && timestamp.longValue() == -1;
        boolean some = headers.iterator().hasNext();
        out.add(
                number,
                topic,
                record.kafkaPartition(),
                none ? null : timestamp,
                keyBytes,
                valueBytes,
                some ? headers : null);
    }

    private void atKey() {
        at("KEY_CONVERTER", "", key);
        Loaders.enter(keyLoader);
    }

    private void atValue() {
        at("VALUE_CONVERTER", "", value);
        Loaders.enter(valueLoader);
    }

    /** What fails from now on is refused for Kafka's client. */
    void atProducer() {
        at("KAFKA_PRODUCE", "", this);
    }

    void atHeader() {
        at("HEADER_CONVERTER", "", header);
        Loaders.enter(headerLoader);
    }

    Failure failed(int index, Throwable error) {
        return new Failure(index, stage, alias, plugin, error);
    }

    /** Closes what can be closed; the first error is thrown once all were asked. */
    public void close() throws Throwable {
        Throwable first = null;
        List all = new ArrayList();
        for (Object each : steps) {
            Step step = (Step) each;
            all.add(step.transformation);
            if (step.predicate != null) {
                all.add(step.predicate);
            }
        }
        all.add(key);
        all.add(value);
        all.add(header);
        for (Object each : all) {
            if (each == null) {
                continue;
            }
            ClassLoader before = Loaders.enter(Loaders.of(each));
            try {
                ((AutoCloseable) each).close();
            } catch (Throwable error) {
                first = first == null ? error : first;
            } finally {
                Loaders.enter(before);
            }
        }
        if (first != null) {
            throw first;
        }
    }

    private void at(String stage, String alias, Object plugin) {
        this.stage = stage;
        this.alias = alias;
        this.plugin = plugin;
    }
}
