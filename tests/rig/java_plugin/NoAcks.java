package rig;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigRequest;

/** Connectors may set everything but `acks`. */
public final class NoAcks implements ConnectorClientConfigOverridePolicy {
    public void configure(Map settings) {}

    public List validate(ConnectorClientConfigRequest request) {
        List found = new ArrayList();
        for (Object each : request.clientProps().entrySet()) {
            Map.Entry entry = (Map.Entry) each;
            ConfigValue value = new ConfigValue((String) entry.getKey());
            value.value(entry.getValue());
            if (entry.getKey().equals("acks")) {
                value.addErrorMessage(request.connectorName() + " may not set acks of its " + request.clientType());
            }
            found.add(value);
        }
        return found;
    }

    public void close() {}
}
