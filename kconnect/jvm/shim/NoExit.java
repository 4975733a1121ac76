package kconnect.shim;

import java.lang.reflect.Method;
import java.security.Permission;

/**
 * Refuses `System.exit` and `Runtime.halt`: one plugin is not to end the process of others. And it gives each unit's threads a
 * group, which is not to grow without end (`Threads`). All else is allowed, without a look.
 *
 * Java has security managers up to version 23. From then on a plugin's exit ends its host, and its threads are nobody's.
 */
public final class NoExit extends SecurityManager {
    /** Whether it is in force now. What `System.setSecurityManager` does, but for its four lines of warning at each start. */
    public static boolean install() {
        try {
            Method set = System.class.getDeclaredMethod("implSetSecurityManager", new Class[] {SecurityManager.class});
            set.setAccessible(true);
            set.invoke(null, new Object[] {new NoExit()});
            return System.getSecurityManager() != null;
        } catch (ReflectiveOperationException error) {
            return false;
        }
    }

    public void checkExit(int status) {
        throw new SecurityException("System.exit(" + status
                + ") was called by a plugin, and is refused: it would end the other connectors of this process");
    }

    public ThreadGroup getThreadGroup() {
        ThreadGroup own = Threads.group();
        return own == null ? super.getThreadGroup() : own;
    }

    public void checkAccess(ThreadGroup group) {
        Threads.check(group);
    }

    public void checkAccess(Thread thread) {}

    public void checkPermission(Permission permission) {}

    public void checkPermission(Permission permission, Object context) {}

    public void checkPackageAccess(String name) {}
}
