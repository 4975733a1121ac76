package kconnect.shim;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * The lines that Java has logged and Python has not taken yet. Who logs never waits for Python: of each unit so many lines wait,
 * and the others are counted. `take` has them all in one array:
 *
 *     level                              4 bytes, as all numbers here
 *     unit, logger, message, trace       the length of each, and its UTF-8
 *
 * and so on; behind the lines, with level 0 and the unit's name only, how many of a unit's lines are missing: as the message.
 */
public final class Lines {
    static final int TRACE = 5;
    static final int DEBUG = 10;
    static final int INFO = 20;
    static final int WARN = 30;
    static final int ERROR = 40;

    /** Lines of a unit that wait. */
    private static final int MOST = 5000;
    /** That many more, of WARN and above: who floods the log is most likely to say why. */
    private static final int RESERVE = 500;
    /** Characters of a unit's lines that wait; the last line may exceed it. */
    private static final int MOST_CHARACTERS = 2 * 1024 * 1024;
    /** Of a message, or of a trace. */
    private static final int LONGEST = 64 * 1024;
    /** How far back a text is cut between words. */
    private static final int WORD = 1024;

    private static final Object LOCK = new Object();
    private static List waiting = new ArrayList();
    private static Map units = new HashMap();
    private static boolean closed;

    private Lines() {}

    private static final class Unit {
        int lines;
        int characters;
        int missing;
    }

    private static final class Line {
        int level;
        String unit;
        String logger;
        String message;
        String trace;
    }

    /** Whether a line of this thread would be kept. One that would not is counted, and costs nothing else. */
    static boolean hasRoom(int level) {
        synchronized (LOCK) {
            Unit unit = unit(Whose.unit());
            int most = level >= WARN ? MOST + RESERVE : MOST;
            if (unit.lines < most && unit.characters < MOST_CHARACTERS) {
                return true;
            }
            unit.missing++;
            return false;
        }
    }

    static void add(int level, String logger, String message, Throwable thrown) {
        Line line = new Line();
        line.level = level;
        line.unit = Whose.unit();
        line.logger = logger;
        // A plugin's toString and printStackTrace may do anything, so this is done without the lock.
        line.message = cut(String.valueOf(message));
        line.trace = thrown == null ? "" : cut(trace(thrown));
        synchronized (LOCK) {
            Unit unit = unit(line.unit);
            unit.lines++;
            unit.characters += line.message.length() + line.trace.length();
            waiting.add(line);
            LOCK.notifyAll();
        }
    }

    /** Wait until there is a line; false: nobody is to wait any more. */
    public static boolean awaitLine() throws InterruptedException {
        synchronized (LOCK) {
            while (waiting.isEmpty() && !closed) {
                LOCK.wait();
            }
            return !closed;
        }
    }

    public static void close() {
        synchronized (LOCK) {
            closed = true;
            LOCK.notifyAll();
        }
    }

    /** All that wait, in order; empty if none do. */
    public static byte[] take() throws IOException {
        List lines;
        Map counts;
        synchronized (LOCK) {
            lines = waiting;
            counts = units;
            waiting = new ArrayList();
            units = new HashMap();
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        for (Object each : lines) {
            Line line = (Line) each;
            write(out, line.level, line.unit, line.logger, line.message, line.trace);
        }
        for (Iterator each = counts.entrySet().iterator(); each.hasNext(); ) {
            Map.Entry entry = (Map.Entry) each.next();
            int missing = ((Unit) entry.getValue()).missing;
            if (missing > 0) {
                write(out, 0, (String) entry.getKey(), "", String.valueOf(missing), "");
            }
        }
        return bytes.toByteArray();
    }

    private static Unit unit(String name) {
        Unit found = (Unit) units.get(name);
        if (found == null) {
            found = new Unit();
            units.put(name, found);
        }
        return found;
    }

    private static void write(DataOutputStream out, int level, String unit, String logger, String message, String trace)
            throws IOException {
        out.writeInt(level);
        String[] texts = new String[] {unit, logger, message, trace};
        for (int at = 0; at < texts.length; at++) {
            byte[] text = texts[at].getBytes(StandardCharsets.UTF_8);
            out.writeInt(text.length);
            out.write(text);
        }
    }

    private static String trace(Throwable thrown) {
        try {
            return Failure.trace(thrown).trim();
        } catch (Throwable second) {
            return thrown.getClass().getName() + " (its trace can't be had: "
                    + second.getClass().getName() + ")";
        }
    }

    /** The beginning of a text that is too long; between words, for half a secret is not found any more. */
    private static String cut(String text) {
        if (text.length() <= LONGEST) {
            return text;
        }
        int end = LONGEST;
        while (end > LONGEST - WORD && !Character.isWhitespace(text.charAt(end))) {
            end--;
        }
        return text.substring(0, end) + "… (" + text.length() + " characters)";
    }
}
