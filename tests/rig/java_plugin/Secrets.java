package rig;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.provider.ConfigProvider;

/** Gives `param.begin` and the key; nothing of the path "none", and fails at "bad" and "worse". Its values hold for `param.ttl` ms. */
public final class Secrets implements ConfigProvider {
    private Map settings;

    public void configure(Map settings) {
        this.settings = settings;
    }

    public ConfigData get(String path) {
        throw new UnsupportedOperationException();
    }

    public ConfigData get(String path, Set keys) {
        if (path.equals("bad")) {
            throw new ConfigException("there is no " + path);
        }
        if (path.equals("worse")) {
            throw new IllegalStateException("the value is " + settings.get("begin"));
        }
        Map found = new HashMap();
        for (Object key : keys) {
            if (!path.equals("none")) {
                found.put(key, settings.get("begin") + (String) key);
            }
        }
        return settings.containsKey("ttl")
                ? new ConfigData(found, Long.valueOf((String) settings.get("ttl")))
                : new ConfigData(found);
    }

    public void close() throws IOException {}
}
