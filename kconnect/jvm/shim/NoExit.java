package kconnect.shim;

import java.security.Permission;

/**
 * Refuses `System.exit`: one plugin is not to end the process of others. All else is allowed, without a look.
 *
 * Java 17 says, when it is set, that security managers will go. From Java 24 on there are none: a plugin's exit ends its host.
 */
public final class NoExit extends SecurityManager {
    /** Whether it is in force now. */
    public static boolean install() {
        try {
            System.setSecurityManager(new NoExit());
            return true;
        } catch (UnsupportedOperationException error) {
            return false;
        }
    }

    public void checkExit(int status) {
        throw new SecurityException(
            "System.exit(" + status + ") was called by a plugin, and is refused: it would end the other connectors of this process");
    }

    public void checkPermission(Permission permission) {
    }

    public void checkPermission(Permission permission, Object context) {
    }

    public void checkPackageAccess(String name) {
    }
}
