package kconnect.shim;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The threads that each unit's code has started, however indirectly: in a group of the unit's own, which `NoExit` gives to each
 * new one, and which takes only so many. A unit is named as `Whose` names it.
 */
public final class Threads {
    private static final ThreadGroup TOP = Thread.currentThread().getThreadGroup();
    private static final Map GROUPS = new ConcurrentHashMap();
    private static final Set REFUSED = ConcurrentHashMap.newKeySet();
    private static volatile int most = Integer.MAX_VALUE;
    private static String[] seen = new String[0];

    private Threads() {}

    public static void limit(int most) {
        Threads.most = most;
    }

    /** For a thread that the calling one is about to start; null if that one is nobody's. */
    static ThreadGroup group() {
        String unit = Whose.unit();
        if (unit.isEmpty()) {
            return null;
        }
        ThreadGroup group = (ThreadGroup) GROUPS.get(unit);
        if (group == null) {
            GROUPS.putIfAbsent(unit, new ThreadGroup(TOP, unit.replace('\0', '-')));
            group = (ThreadGroup) GROUPS.get(unit);
        }
        return group;
    }

    /** Refuses the calling unit a thread in its own group once that is full. */
    static void check(ThreadGroup group) {
        String unit = Whose.unit();
        if (!unit.isEmpty() && GROUPS.get(unit) == group && group.activeCount() >= most) {
            REFUSED.add(unit);
            throw new SecurityException("The plugin has " + most
                    + " live threads, and can't start another one: end each thread, at the latest in stop()");
        }
    }

    /** How many a unit has. */
    public static int count(String unit) {
        ThreadGroup group = (ThreadGroup) GROUPS.get(unit);
        return group == null ? 0 : group.activeCount();
    }

    /** The name of each unit's thread behind that of the unit and a NUL; null if they are those of the last call. */
    public static synchronized String[] look() {
        List found = new ArrayList();
        for (Object each : GROUPS.entrySet()) {
            Map.Entry entry = (Map.Entry) each;
            Thread[] threads = of((ThreadGroup) entry.getValue());
            for (int number = 0; number < threads.length; number++) {
                found.add(entry.getKey() + "\0" + threads[number].getName());
            }
        }
        String[] now = (String[]) found.toArray(new String[0]);
        if (Arrays.equals(now, seen)) {
            return null;
        }
        seen = now;
        return now;
    }

    /** Behind each unit and a NUL, the number of a thread of it, a NUL, and how many nanoseconds of a processor that has taken. */
    public static String[] clocks() {
        ThreadMXBean clocks = ManagementFactory.getThreadMXBean();
        List found = new ArrayList();
        if (clocks.isThreadCpuTimeSupported() && clocks.isThreadCpuTimeEnabled()) {
            for (Object each : GROUPS.entrySet()) {
                Map.Entry entry = (Map.Entry) each;
                Thread[] threads = of((ThreadGroup) entry.getValue());
                for (int number = 0; number < threads.length; number++) {
                    long taken = clocks.getThreadCpuTime(threads[number].getId());
                    if (taken >= 0) {
                        found.add(entry.getKey() + "\0" + threads[number].getId() + "\0" + taken);
                    }
                }
            }
        }
        return (String[]) found.toArray(new String[0]);
    }

    /** The units that were refused a thread since the last call. */
    public static String[] refused() {
        if (REFUSED.isEmpty()) {
            return new String[0];
        }
        String[] found = (String[]) REFUSED.toArray(new String[0]);
        REFUSED.removeAll(Arrays.asList((Object[]) found));
        return found;
    }

    /** Where a unit's threads stand, the first few. */
    public static String stacks(String unit, int most) {
        StringBuilder text = new StringBuilder();
        ThreadGroup group = (ThreadGroup) GROUPS.get(unit);
        Thread[] threads = group == null ? new Thread[0] : of(group);
        for (int number = 0; number < threads.length && number < most; number++) {
            text.append(threads[number].getName()).append(":\n");
            StackTraceElement[] frames = threads[number].getStackTrace();
            for (int frame = 0; frame < frames.length; frame++) {
                text.append("  at ").append(frames[frame]).append("\n");
            }
        }
        return text.toString();
    }

    private static Thread[] of(ThreadGroup group) {
        Thread[] found = new Thread[group.activeCount() + 10];
        return (Thread[]) Arrays.copyOf(found, group.enumerate(found));
    }
}
