package kconnect.shim;

import org.slf4j.helpers.FormattingTuple;
import org.slf4j.helpers.MarkerIgnoringBase;
import org.slf4j.helpers.MessageFormatter;

/** One logger. Whether a line is wanted is decided here; a line that is not costs one comparison. */
final class LineLogger extends MarkerIgnoringBase {
    /** The lowest that is wanted; set by `Loggers`. */
    volatile int level;

    private final String name;

    LineLogger(String name) {
        this.name = name;
    }

    public String getName() {
        return name;
    }

    public boolean isTraceEnabled() {
        return level <= Lines.TRACE;
    }

    public void trace(String message) {
        if (level <= Lines.TRACE) {
            say(Lines.TRACE, message, null, null);
        }
    }

    public void trace(String format, Object argument) {
        if (level <= Lines.TRACE) {
            say(Lines.TRACE, format, new Object[] {argument}, null);
        }
    }

    public void trace(String format, Object first, Object second) {
        if (level <= Lines.TRACE) {
            say(Lines.TRACE, format, new Object[] {first, second}, null);
        }
    }

    public void trace(String format, Object... arguments) {
        if (level <= Lines.TRACE) {
            say(Lines.TRACE, format, arguments, null);
        }
    }

    public void trace(String message, Throwable thrown) {
        if (level <= Lines.TRACE) {
            say(Lines.TRACE, message, null, thrown);
        }
    }

    public boolean isDebugEnabled() {
        return level <= Lines.DEBUG;
    }

    public void debug(String message) {
        if (level <= Lines.DEBUG) {
            say(Lines.DEBUG, message, null, null);
        }
    }

    public void debug(String format, Object argument) {
        if (level <= Lines.DEBUG) {
            say(Lines.DEBUG, format, new Object[] {argument}, null);
        }
    }

    public void debug(String format, Object first, Object second) {
        if (level <= Lines.DEBUG) {
            say(Lines.DEBUG, format, new Object[] {first, second}, null);
        }
    }

    public void debug(String format, Object... arguments) {
        if (level <= Lines.DEBUG) {
            say(Lines.DEBUG, format, arguments, null);
        }
    }

    public void debug(String message, Throwable thrown) {
        if (level <= Lines.DEBUG) {
            say(Lines.DEBUG, message, null, thrown);
        }
    }

    public boolean isInfoEnabled() {
        return level <= Lines.INFO;
    }

    public void info(String message) {
        if (level <= Lines.INFO) {
            say(Lines.INFO, message, null, null);
        }
    }

    public void info(String format, Object argument) {
        if (level <= Lines.INFO) {
            say(Lines.INFO, format, new Object[] {argument}, null);
        }
    }

    public void info(String format, Object first, Object second) {
        if (level <= Lines.INFO) {
            say(Lines.INFO, format, new Object[] {first, second}, null);
        }
    }

    public void info(String format, Object... arguments) {
        if (level <= Lines.INFO) {
            say(Lines.INFO, format, arguments, null);
        }
    }

    public void info(String message, Throwable thrown) {
        if (level <= Lines.INFO) {
            say(Lines.INFO, message, null, thrown);
        }
    }

    public boolean isWarnEnabled() {
        return level <= Lines.WARN;
    }

    public void warn(String message) {
        if (level <= Lines.WARN) {
            say(Lines.WARN, message, null, null);
        }
    }

    public void warn(String format, Object argument) {
        if (level <= Lines.WARN) {
            say(Lines.WARN, format, new Object[] {argument}, null);
        }
    }

    public void warn(String format, Object first, Object second) {
        if (level <= Lines.WARN) {
            say(Lines.WARN, format, new Object[] {first, second}, null);
        }
    }

    public void warn(String format, Object... arguments) {
        if (level <= Lines.WARN) {
            say(Lines.WARN, format, arguments, null);
        }
    }

    public void warn(String message, Throwable thrown) {
        if (level <= Lines.WARN) {
            say(Lines.WARN, message, null, thrown);
        }
    }

    public boolean isErrorEnabled() {
        return level <= Lines.ERROR;
    }

    public void error(String message) {
        if (level <= Lines.ERROR) {
            say(Lines.ERROR, message, null, null);
        }
    }

    public void error(String format, Object argument) {
        if (level <= Lines.ERROR) {
            say(Lines.ERROR, format, new Object[] {argument}, null);
        }
    }

    public void error(String format, Object first, Object second) {
        if (level <= Lines.ERROR) {
            say(Lines.ERROR, format, new Object[] {first, second}, null);
        }
    }

    public void error(String format, Object... arguments) {
        if (level <= Lines.ERROR) {
            say(Lines.ERROR, format, arguments, null);
        }
    }

    public void error(String message, Throwable thrown) {
        if (level <= Lines.ERROR) {
            say(Lines.ERROR, message, null, thrown);
        }
    }

    private void say(int number, String format, Object[] arguments, Throwable thrown) {
        if (!Lines.hasRoom(number)) {
            return;
        }
        if (arguments == null) {
            Lines.add(number, name, format, thrown);
        } else {
            FormattingTuple made = MessageFormatter.arrayFormat(format, arguments);
            Lines.add(number, name, made.getMessage(), made.getThrowable());
        }
    }
}
