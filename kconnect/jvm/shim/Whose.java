package kconnect.shim;

/**
 * The unit that a thread works for. `logs.py` sets it on a unit's own thread, and Java hands it on to each thread that such a
 * thread starts.
 */
public final class Whose {
    private static final InheritableThreadLocal UNIT = new InheritableThreadLocal();

    private Whose() {
    }

    public static void set(String unit) {
        UNIT.set(unit);
    }

    /** Empty if the thread is nobody's. */
    static String unit() {
        String unit = (String) UNIT.get();
        return unit == null ? "" : unit;
    }
}
