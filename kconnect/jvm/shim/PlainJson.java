package kconnect.shim;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.Converter;

/**
 * What Connect's own JsonConverter makes of a message without schemas, in half of its time: maps and lists straight from the
 * text, where the converter builds a tree first. Whatever is no good is left to the converter, which says why.
 */
public final class PlainJson {
    private static final JsonFactory FACTORY = new JsonFactory();

    private PlainJson() {}

    /** Whether this is what a converter does, which is configured already. */
    public static boolean is(Converter converter) {
        if (converter == null || converter.getClass() != JsonConverter.class) {
            return false;
        }
        try {
            // One with schemas wants an envelope, or has a schema for every message (`schema.content`).
            SchemaAndValue found = converter.toConnectData("", "1".getBytes(StandardCharsets.UTF_8));
            return found.schema() == null && Long.valueOf(1).equals(found.value());
        } catch (DataException error) {
            return false;
        }
    }

    /** The value of a message; null if the converter has to look at it. */
    public static SchemaAndValue read(byte[] data) {
        if (data == null) {
            return null;
        }
        try {
            JsonParser parser = FACTORY.createParser(data);
            try {
                JsonToken first = parser.nextToken();
                return first == null ? null : new SchemaAndValue(null, value(parser, first));
            } finally {
                parser.close();
            }
        } catch (IOException error) {
            return null;
        }
    }

    private static Object value(JsonParser parser, JsonToken token) throws IOException {
        switch (token) {
            case START_OBJECT:
                Map fields = new HashMap();
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    String name = parser.getCurrentName();
                    fields.put(name, value(parser, parser.nextToken()));
                }
                return fields;
            case START_ARRAY:
                List elements = new ArrayList();
                for (JsonToken next = parser.nextToken(); next != JsonToken.END_ARRAY; next = parser.nextToken()) {
                    elements.add(value(parser, next));
                }
                return elements;
            case VALUE_STRING:
                return parser.getText();
            case VALUE_NUMBER_INT:
                // One that has no room loses its upper bits there, too.
                return Long.valueOf(
                        parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
                                ? parser.getBigIntegerValue().longValue()
                                : parser.getLongValue());
            case VALUE_NUMBER_FLOAT:
                // By way of a decimal there is no -0.0.
                return Double.valueOf(parser.getDecimalValue().doubleValue());
            case VALUE_TRUE:
                return Boolean.TRUE;
            case VALUE_FALSE:
                return Boolean.FALSE;
            case VALUE_NULL:
                return null;
            default:
                throw new IOException("no value begins with " + token);
        }
    }
}
