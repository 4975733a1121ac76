package kconnect.shim;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.management.Attribute;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.MBeanServerDelegate;
import javax.management.MBeanServerNotification;
import javax.management.Notification;
import javax.management.NotificationListener;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.TabularData;

/**
 * The JMX beans of plugins and what they say in numbers. A bean is of the unit whose thread has registered it. `read` reads all
 * of them in threads of its own: one that waits for a getter is left to it, and that bean is not asked again before the getter
 * has returned.
 */
public final class Beans implements NotificationListener {
    /** Numbers of a unit, and characters of their names. */
    private static final int MOST = 5000;

    private static final int MOST_CHARACTERS = 400 * 1024;
    private static final int LONGEST_NAME = 2000;
    private static final int MOST_HANGING = 20;

    private static final Map UNITS = Collections.synchronizedMap(new LinkedHashMap());
    private static final Set HANGING = ConcurrentHashMap.newKeySet();
    private static MBeanServer server;
    private static volatile boolean closed;

    private Beans() {}

    /** Before any plugin is there: from now on it is known whose beans are. */
    public static void begin() throws Exception {
        server = ManagementFactory.getPlatformMBeanServer();
        server.addNotificationListener(MBeanServerDelegate.DELEGATE_NAME, new Beans(), null, null);
    }

    /** In the thread that registers. */
    public void handleNotification(Notification notification, Object handback) {
        ObjectName bean = ((MBeanServerNotification) notification).getMBeanName();
        if (notification.getType().equals(MBeanServerNotification.REGISTRATION_NOTIFICATION)) {
            UNITS.put(bean, Whose.unit());
        } else {
            UNITS.remove(bean);
        }
    }

    public static void close() {
        closed = true;
    }

    /** What one reader has read. */
    private static final class Reader extends Thread {
        final Iterator names;
        final Map found;
        ObjectName at;
        long since;
        boolean left;

        Reader(Iterator names, Map found) {
            super("kconnect-beans");
            setDaemon(true);
            this.names = names;
            this.found = found;
        }

        public void run() {
            while (next()) {
                List rows = new ArrayList();
                try {
                    rows = rows(at);
                } catch (Throwable error) {
                    // It has gone, or does not want to be read.
                }
                if (done(rows)) {
                    return;
                }
            }
        }

        private synchronized boolean next() {
            while (!closed && names.hasNext()) {
                at = (ObjectName) names.next();
                Unit of = (Unit) found.get(UNITS.get(at));
                if (of == null || !of.isFull()) {
                    since = System.nanoTime();
                    return true;
                }
                of.missing++;
            }
            at = null;
            return false;
        }

        /** Whether somebody else goes on. */
        private synchronized boolean done(List rows) {
            HANGING.remove(at);
            if (!left && !rows.isEmpty()) {
                String unit = (String) UNITS.get(at);
                if (unit != null) {
                    Unit of = (Unit) found.get(unit);
                    if (of == null) {
                        of = new Unit();
                        found.put(unit, of);
                    }
                    of.add(rows);
                }
            }
            return left;
        }

        /** The bean that it has waited for so long; null if it need not be left. */
        synchronized ObjectName late(long limitMs) {
            if (at == null || System.nanoTime() - since < limitMs * 1000000L) {
                return null;
            }
            left = true;
            HANGING.add(at);
            return at;
        }
    }

    private static final class Unit {
        final List rows = new ArrayList();
        int numbers;
        int characters;
        int missing;

        boolean isFull() {
            return numbers >= MOST || characters >= MOST_CHARACTERS;
        }

        void add(List more) {
            for (Object each : more) {
                if (isFull()) {
                    missing++;
                    continue;
                }
                List row = (List) each;
                rows.add(row);
                numbers += ((Map) row.get(1)).size();
                characters += row.toString().length();
            }
        }
    }

    /**
     * JSON: by unit what its beans say, each as a bean's name, its numbers by attribute, and the key of a table's row if they are
     * of one; how many beans more there are, by unit; and which beans hang, with the unit of each.
     */
    public static byte[] read(long limitMs) throws IOException, InterruptedException {
        List names;
        synchronized (UNITS) {
            names = new ArrayList(UNITS.keySet());
        }
        Iterator asked = asked(names);
        Map found = new HashMap();
        Reader reader = new Reader(asked, found);
        reader.start();
        while (reader.isAlive() && !closed) {
            reader.join(20);
            if (reader.isAlive() && reader.late(limitMs) != null) {
                if (HANGING.size() >= MOST_HANGING) {
                    break;
                }
                reader = new Reader(asked, found);
                reader.start();
            }
        }
        Map units = new HashMap();
        Map missing = new HashMap();
        for (Object each : found.entrySet()) {
            Map.Entry entry = (Map.Entry) each;
            units.put(entry.getKey(), ((Unit) entry.getValue()).rows);
            if (((Unit) entry.getValue()).missing > 0) {
                missing.put(entry.getKey(), Integer.valueOf(((Unit) entry.getValue()).missing));
            }
        }
        Map hanging = new HashMap();
        for (Object each : HANGING) {
            hanging.put(each.toString(), UNITS.get(each));
        }
        Map all = new HashMap();
        all.put("units", units);
        all.put("missing", missing);
        all.put("hanging", hanging);
        return new ObjectMapper().writeValueAsBytes(all);
    }

    /** Those that can be asked; as many hang as may, none can. */
    private static Iterator asked(List names) {
        if (HANGING.size() >= MOST_HANGING) {
            return Collections.EMPTY_LIST.iterator();
        }
        List asked = new ArrayList();
        for (Object each : names) {
            if (!HANGING.contains(each)) {
                asked.add(each);
            }
        }
        return asked.iterator();
    }

    private static List rows(ObjectName bean) throws Exception {
        String name = bean.toString();
        if (name.length() > LONGEST_NAME) {
            return Collections.EMPTY_LIST;
        }
        List wanted = new ArrayList();
        MBeanAttributeInfo[] attributes = server.getMBeanInfo(bean).getAttributes();
        for (int at = 0; at < attributes.length; at++) {
            if (attributes[at].isReadable() && mayBeNumber(attributes[at].getType())) {
                wanted.add(attributes[at].getName());
            }
        }
        List rows = new ArrayList();
        Map values = new LinkedHashMap();
        for (Object each : server.getAttributes(bean, (String[]) wanted.toArray(new String[0]))) {
            Attribute attribute = (Attribute) each;
            if (attribute.getValue() instanceof TabularData) {
                ofTable(name, attribute.getName(), (TabularData) attribute.getValue(), rows);
            } else {
                add(values, attribute.getName(), attribute.getValue());
            }
        }
        rows.add(row(name, values, ""));
        return rows;
    }

    private static boolean mayBeNumber(String type) {
        return type.indexOf('.') < 0
                || type.equals("javax.management.openmbean.TabularData")
                || type.startsWith("java.util.concurrent.atomic.")
                || type.startsWith("java.math.")
                || type.startsWith("java.lang.") && !type.equals("java.lang.String");
    }

    /** Of what an MXBean makes of a map: a row for each key. */
    private static void ofTable(String name, String attribute, TabularData table, List rows) {
        for (Object each : table.values()) {
            CompositeData entry = (CompositeData) each;
            if (entry.containsKey("key") && entry.containsKey("value")) {
                Map values = new LinkedHashMap();
                add(values, attribute, entry.get("value"));
                rows.add(row(name, values, String.valueOf(entry.get("key"))));
            }
        }
    }

    private static List row(String name, Map values, String key) {
        List row = new ArrayList();
        row.add(name);
        row.add(values);
        row.add(key);
        return row;
    }

    private static void add(Map values, String name, Object value) {
        if (value instanceof Boolean) {
            values.put(name, Integer.valueOf(((Boolean) value).booleanValue() ? 1 : 0));
        } else if (value instanceof Number) {
            double number = ((Number) value).doubleValue();
            values.put(name, Double.isNaN(number) || Double.isInfinite(number) ? null : Double.valueOf(number));
        }
    }
}
