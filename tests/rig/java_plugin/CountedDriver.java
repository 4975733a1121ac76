package rig;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverPropertyInfo;
import java.util.Properties;
import java.util.logging.Logger;

/** A database's driver without a database: how often its class was loaded is in the system property `rig.drivers`. */
public final class CountedDriver implements Driver {
    static {
        System.setProperty(
                "rig.drivers",
                String.valueOf(Integer.getInteger("rig.drivers", 0).intValue() + 1));
    }

    public Connection connect(String url, Properties properties) {
        return null;
    }

    public boolean acceptsURL(String url) {
        return false;
    }

    public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) {
        return new DriverPropertyInfo[0];
    }

    public int getMajorVersion() {
        return 1;
    }

    public int getMinorVersion() {
        return 0;
    }

    public boolean jdbcCompliant() {
        return false;
    }

    public Logger getParentLogger() {
        return null;
    }
}
