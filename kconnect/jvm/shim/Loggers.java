package kconnect.shim;

import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;

/**
 * The loggers of slf4j, with the levels of Python's loggers of the same names: one without a level has that of its nearest
 * ancestor. Levels are Python's numbers.
 */
public final class Loggers implements ILoggerFactory {
    private static final String ROOT = "";

    public static final Loggers ALL = new Loggers();

    private final ConcurrentHashMap made = new ConcurrentHashMap();
    /** What has a level of its own. */
    private Map levels = Collections.singletonMap(ROOT, Integer.valueOf(Lines.INFO));

    private Loggers() {}

    /** From now on these loggers have these levels, and no others have any. The root's name is empty. */
    public static void follow(String[] names, int[] levels) {
        ALL.set(names, levels);
        JulHandler.follow(names, levels);
    }

    public Logger getLogger(String name) {
        LineLogger found = (LineLogger) made.get(name);
        return found == null ? make(name) : found;
    }

    private synchronized LineLogger make(String name) {
        LineLogger found = (LineLogger) made.get(name);
        if (found == null) {
            found = new LineLogger(name);
            found.level = effective(name);
            made.put(name, found);
        }
        return found;
    }

    private synchronized void set(String[] names, int[] numbers) {
        Map fresh = new HashMap();
        for (int at = 0; at < names.length; at++) {
            fresh.put(names[at], Integer.valueOf(numbers[at]));
        }
        levels = fresh;
        for (Iterator each = made.values().iterator(); each.hasNext(); ) {
            LineLogger logger = (LineLogger) each.next();
            logger.level = effective(logger.getName());
        }
    }

    private int effective(String name) {
        String at = name.equals(Logger.ROOT_LOGGER_NAME) ? ROOT : name;
        while (!levels.containsKey(at)) {
            at = at.substring(0, Math.max(0, at.lastIndexOf('.')));
        }
        return ((Integer) levels.get(at)).intValue();
    }
}
