package kconnect.shim;

/**
 * The unit that a thread works for. `logs.py` sets it on a unit's own thread, and Java hands it on to each thread that such a
 * thread starts. It is the connector's name, `END`, and the task's number, which a connector has none of.
 */
public final class Whose {
    static final String END = "\0";

    private static final InheritableThreadLocal UNIT = new InheritableThreadLocal();

    private Whose() {}

    public static void set(String unit) {
        UNIT.set(unit);
    }

    /** Empty if the thread is nobody's. */
    static String unit() {
        String unit = (String) UNIT.get();
        return unit == null ? "" : unit;
    }
}
