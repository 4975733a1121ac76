package faulty;

import java.io.File;
import java.io.FileWriter;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What Java code may do wrong, and the journal that says where and when it was done; `plugin/faults.py` in Java. Everything that
 * would have no end has one here, for the machine's sake.
 */
public final class Faults {
    private static final int LINES = 100000;
    private static final int THREADS = 2000;
    private static final long MOST_BYTES = 2L << 30;
    private static final List KEPT = new ArrayList();
    private static final Object ONE = new Object();
    private static final Object OTHER = new Object();
    private static final File HOME = home();

    private Faults() {}

    /** What `place` and `kind` of these settings say; `prefix` stands before both names. */
    public static String[] chosen(Map settings, String prefix) {
        return new String[] {
            String.valueOf(settings.get(prefix + "place")), String.valueOf(settings.get(prefix + "kind"))
        };
    }

    /** For calls that know no settings: what the file `plan` says, which lies beside the journal. */
    public static String[] planned() {
        try {
            String[] found = Files.readString(new File(HOME, "plan").toPath()).split("\n");
            return found.length < 2 ? new String[] {"", ""} : found;
        } catch (IOException error) {
            return new String[] {"", ""};
        }
    }

    /** Misbehave, if the call `place` is the chosen one. With ` (host)` behind it, not where configs are validated. */
    public static void at(String place, String[] chosen) {
        at(place, chosen, new Object[0], null);
    }

    /** The same within a call that was `given` this, by a plugin with this context. */
    public static void at(String place, String[] chosen, Object[] given, Object context) {
        boolean sandbox = System.getenv("KCONNECT_SANDBOX") != null;
        if (chosen[0].equals(place) || chosen[0].equals(place + " (host)") && !sandbox) {
            note(chosen[0], chosen[1]);
            if (chosen[1].equals("changes")) {
                Meddling.change(given);
            } else if (chosen[1].equals("within")) {
                Meddling.within(context);
            } else if (chosen[1].equals("thread")) {
                Meddling.inAnotherThread(context);
            } else {
                strike(chosen[1]);
            }
        }
    }

    /** Of this process. */
    public static String pid() {
        try {
            return new File("/proc/self").getCanonicalFile().getName();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void strike(String kind) {
        if (kind.equals("hang")) {
            for (; ; ) {
                pause(3600000);
            }
        } else if (kind.equals("busy")) {
            for (long number = 0; KEPT.size() >= 0; number++) {
                if (number == Long.MAX_VALUE) {
                    KEPT.clear();
                }
            }
        } else if (kind.equals("deadlock")) {
            deadlock();
        } else if (kind.equals("slow")) {
            pause(1000);
        } else if (kind.equals("exception")) {
            throw new IllegalStateException("struck: an exception");
        } else if (kind.equals("stack")) {
            deeper(0);
        } else if (kind.equals("class")) {
            throw new NoClassDefFoundError("struck/Missing");
        } else if (kind.equals("exit")) {
            System.exit(3);
        } else if (kind.equals("halt")) {
            Runtime.getRuntime().halt(3);
        } else if (kind.equals("heap")) {
            for (long taken = 0; taken < MOST_BYTES; taken += 1 << 20) {
                KEPT.add(new byte[1 << 20]);
                pause(5);
            }
        } else if (kind.equals("direct")) {
            for (long taken = 0; taken < MOST_BYTES; taken += 1 << 20) {
                KEPT.add(ByteBuffer.allocateDirect(1 << 20));
            }
        } else if (kind.equals("threads")) {
            for (int number = 0; number < THREADS; number++) {
                start(new Sleeper(), "struck " + number);
                pause(2);
            }
        } else if (kind.equals("crash")) {
            crash();
        } else if (kind.equals("crash in a thread")) {
            start(new Crashing(), "struck and crashing");
            pause(60000);
        } else if (kind.equals("stdout")) {
            for (int number = 0; number < LINES; number++) {
                System.out.println(
                        "struck: a flood from " + HOME.getParentFile().getName() + ", line " + number);
            }
        } else if (kind.equals("log")) {
            Logger log = LoggerFactory.getLogger(Faults.class);
            for (int number = 0; number < LINES; number++) {
                log.info("struck: a flood from " + HOME.getParentFile().getName() + ", line " + number);
            }
        } else if (kind.equals("leak")) {
            for (int number = 0; number < 3; number++) {
                start(new Sleeper(), "struck and left");
            }
        }
    }

    private static int deeper(int depth) {
        return deeper(depth + 1) + 1;
    }

    private static void deadlock() {
        synchronized (ONE) {
            start(new Locking(), "struck and locked");
            pause(500);
            synchronized (OTHER) {
                KEPT.clear();
            }
        }
    }

    private static void crash() {
        try {
            Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            ((sun.misc.Unsafe) field.get(null)).putAddress(0L, 0L);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void start(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            // It does not care.
        }
    }

    /** With the numbers of process and thread, as Linux has them. */
    private static synchronized void note(String place, String kind) {
        try {
            String[] self = Files.readSymbolicLink(new File("/proc/thread-self").toPath())
                    .toString()
                    .split("/");
            HOME.mkdirs();
            FileWriter journal = new FileWriter(new File(HOME, "journal.jsonl"), true);
            journal.write("{\"place\": \"" + place + "\", \"kind\": \"" + kind + "\", \"pid\": " + self[0]
                    + ", \"tid\": " + self[2] + "}\n");
            journal.close();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static File home() {
        String jar =
                Faults.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        return new File(new File(jar).getParentFile(), "home");
    }

    private static final class Sleeper implements Runnable {
        public void run() {
            for (; ; ) {
                pause(3600000);
            }
        }
    }

    private static final class Crashing implements Runnable {
        public void run() {
            pause(4000);
            crash();
        }
    }

    private static final class Locking implements Runnable {
        public void run() {
            synchronized (OTHER) {
                pause(1000);
                synchronized (ONE) {
                    KEPT.clear();
                }
            }
        }
    }
}
