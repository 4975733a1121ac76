package kconnect.shim;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** What is logged by java.util.logging, whose loggers get the same levels as those of slf4j. */
public final class JulHandler extends Handler {
    private static final SimpleFormatter FORMATTER = new SimpleFormatter();
    /** Those that have levels of ours: Java forgets a logger that nobody holds, and its level. */
    private static List held = new ArrayList();

    private JulHandler() {}

    /** In place of what writes to standard error. */
    public static void begin() {
        Logger root = Logger.getLogger("");
        Handler[] before = root.getHandlers();
        for (int at = 0; at < before.length; at++) {
            root.removeHandler(before[at]);
        }
        root.addHandler(new JulHandler());
    }

    static synchronized void follow(String[] names, int[] levels) {
        List fresh = new ArrayList();
        for (int at = 0; at < names.length; at++) {
            Logger logger = Logger.getLogger(names[at]);
            logger.setLevel(level(levels[at]));
            fresh.add(logger);
        }
        for (Iterator each = held.iterator(); each.hasNext(); ) {
            Logger logger = (Logger) each.next();
            if (!fresh.contains(logger)) {
                logger.setLevel(null);
            }
        }
        held = fresh;
    }

    public void publish(LogRecord record) {
        int level = number(record.getLevel());
        if (Lines.hasRoom(level)) {
            String logger = record.getLoggerName();
            boolean isNamed = logger != null && !logger.isEmpty();
            Lines.add(
                    level, isNamed ? logger : "java.util.logging", FORMATTER.formatMessage(record), record.getThrown());
        }
    }

    public void flush() {}

    public void close() {}

    private static int number(Level level) {
        int value = level.intValue();
        if (value >= Level.SEVERE.intValue()) {
            return Lines.ERROR;
        }
        if (value >= Level.WARNING.intValue()) {
            return Lines.WARN;
        }
        if (value >= Level.INFO.intValue()) {
            return Lines.INFO;
        }
        return value >= Level.FINE.intValue() ? Lines.DEBUG : Lines.TRACE;
    }

    /** The lowest level of Java's that is wanted. */
    private static Level level(int number) {
        if (number <= Lines.TRACE) {
            return Level.ALL;
        }
        if (number <= Lines.DEBUG) {
            return Level.FINE;
        }
        if (number <= Lines.INFO) {
            return Level.INFO;
        }
        if (number <= Lines.WARN) {
            return Level.WARNING;
        }
        return number <= Lines.ERROR ? Level.SEVERE : Level.OFF;
    }
}
