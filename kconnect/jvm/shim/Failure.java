package kconnect.shim;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.apache.kafka.connect.errors.RetriableException;

/** The record of a batch on which a stage failed, and how: Python decides what comes of it. */
public final class Failure {
    /** Which record of the batch, counted from 0. */
    public final int index;
    /** One of Connect's stages, as TRANSFORMATION. */
    public final String stage;
    /** The alias of the transform; empty for a converter. */
    public final String alias;
    /** The class of the transform, predicate or converter. */
    public final String className;

    public final Throwable error;

    Failure(int index, String stage, String alias, Object plugin, Throwable error) {
        this.index = index;
        this.stage = stage;
        this.alias = alias;
        this.className = plugin.getClass().getName();
        this.error = error;
    }

    public static boolean isRetriable(Throwable error) {
        return error instanceof RetriableException;
    }

    /** What Java prints of an error. */
    public static String trace(Throwable error) {
        StringWriter text = new StringWriter();
        error.printStackTrace(new PrintWriter(text, true));
        return text.toString();
    }
}
