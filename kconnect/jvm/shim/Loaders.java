package kconnect.shim;

/** A plugin's code runs with its own class loader as the thread's: what it looks up by name, it finds in its own directory. */
public final class Loaders {
    private Loaders() {}

    /** Of the shim if there is no plugin. */
    static ClassLoader of(Object plugin) {
        return plugin == null
                ? Loaders.class.getClassLoader()
                : plugin.getClass().getClassLoader();
    }

    /** The loader that was the thread's before, to be given back by the same call; null if it had none. */
    public static ClassLoader enter(ClassLoader loader) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        if (before != loader) {
            thread.setContextClassLoader(loader);
        }
        return before;
    }
}
