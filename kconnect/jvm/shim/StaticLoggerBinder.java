package org.slf4j.impl;

import kconnect.shim.Loggers;
import org.slf4j.ILoggerFactory;
import org.slf4j.spi.LoggerFactoryBinder;

/** Where slf4j 1.7 looks for who logs: see `Loggers`. */
public final class StaticLoggerBinder implements LoggerFactoryBinder {
    /** Read by slf4j, which warns of a binding that is made for another line of its versions. */
    public static String REQUESTED_API_VERSION = "1.6.99";

    private static final StaticLoggerBinder SINGLETON = new StaticLoggerBinder();

    private StaticLoggerBinder() {}

    public static StaticLoggerBinder getSingleton() {
        return SINGLETON;
    }

    public ILoggerFactory getLoggerFactory() {
        return Loggers.ALL;
    }

    public String getLoggerFactoryClassStr() {
        return Loggers.class.getName();
    }
}
