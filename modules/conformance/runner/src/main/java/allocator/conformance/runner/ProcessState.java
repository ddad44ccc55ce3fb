package allocator.conformance.runner;

import allocator.conformance.subject.Expect;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.Thread.UncaughtExceptionHandler;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The state of the process that a provider leaves alone (L-04). */
record ProcessState(
        Locale locale,
        Locale displayLocale,
        Locale formatLocale,
        TimeZone zone,
        InputStream in,
        PrintStream out,
        PrintStream err,
        boolean isOutOpen,
        boolean isErrOpen,
        @Nullable UncaughtExceptionHandler handler,
        Map<String, String> properties) {

    /** The beginnings of the names of properties that are not a provider's own. */
    private static final List<String> OF_THE_JDK = List.of(
            "java.",
            "javax.",
            "jdk.",
            "sun.",
            "com.sun.",
            "user.",
            "os.",
            "file.",
            "path.",
            "line.",
            "native.",
            "http.",
            "https.",
            "ftp.",
            "socks",
            "stdin.",
            "stdout.",
            "stderr.");

    static ProcessState now() {
        return now(true, true);
    }

    /**
     * Returns the present state.
     *
     * @param asksOut whether standard output is asked if it is open; not one that a provider has made
     * @param asksErr likewise for standard error
     */
    private static ProcessState now(boolean asksOut, boolean asksErr) {
        final Map<String, String> properties = new TreeMap<>();
        // First, as it sets a property the first time.
        final TimeZone zone = TimeZone.getDefault();
        for (final String name : System.getProperties().stringPropertyNames()) {
            if (OF_THE_JDK.stream().anyMatch(name::startsWith)) {
                properties.put(name, System.getProperty(name, ""));
            }
        }
        return new ProcessState(
                Locale.getDefault(),
                Locale.getDefault(Locale.Category.DISPLAY),
                Locale.getDefault(Locale.Category.FORMAT),
                zone,
                System.in,
                System.out,
                System.err,
                asksOut && isOpen(System.out),
                asksErr && isOpen(System.err),
                Thread.getDefaultUncaughtExceptionHandler(),
                properties);
    }

    /** Returns whether a stream takes output; one that is closed does not say so until it is written to. */
    private static boolean isOpen(PrintStream stream) {
        stream.write(new byte[0], 0, 0);
        return !stream.checkError();
    }

    /** Returns what is different now, a line each. */
    List<String> changes() {
        final ProcessState later = now(Expect.same(out, System.out), Expect.same(err, System.err));
        final List<String> changes = new ArrayList<>();
        add(changes, "the default locale", locale, later.locale);
        add(changes, "the default locale of displays", displayLocale, later.displayLocale);
        add(changes, "the default locale of formats", formatLocale, later.formatLocale);
        add(changes, "the default time zone", zone.getID(), later.zone.getID());
        add(changes, "standard input", in, later.in);
        add(changes, "standard output", out, later.out);
        add(changes, "standard error", err, later.err);
        if (isOutOpen && !later.isOutOpen && Expect.same(out, later.out)) {
            changes.add("standard output was closed, or has failed");
        }
        if (isErrOpen && !later.isErrOpen && Expect.same(err, later.err)) {
            changes.add("standard error was closed, or has failed");
        }
        add(changes, "the default handler of uncaught exceptions", handler, later.handler);
        Stream.concat(properties.keySet().stream(), later.properties.keySet().stream())
                .distinct()
                .forEach(
                        name -> add(changes, "the property " + name, properties.get(name), later.properties.get(name)));
        return changes;
    }

    private static void add(List<String> changes, String what, @Nullable Object before, @Nullable Object after) {
        if (!Objects.equals(before, after)) {
            changes.add(what + " was changed from " + before + " to " + after);
        }
    }

    /** Sets the process to this state. */
    void restore() {
        Locale.setDefault(locale);
        Locale.setDefault(Locale.Category.DISPLAY, displayLocale);
        Locale.setDefault(Locale.Category.FORMAT, formatLocale);
        TimeZone.setDefault(zone);
        System.setIn(in);
        System.setOut(out);
        System.setErr(err);
        Thread.setDefaultUncaughtExceptionHandler(handler);
        now(false, false).properties.keySet().stream()
                .filter(name -> !properties.containsKey(name))
                .forEach(System::clearProperty);
        properties.forEach(System::setProperty);
    }
}
