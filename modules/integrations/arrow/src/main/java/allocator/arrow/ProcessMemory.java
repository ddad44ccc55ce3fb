package allocator.arrow;

import allocator.provider.support.internal.Failures;
import allocator.resource.leak.LeakReport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.arrow.memory.AllocationManager;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.ReferenceManager;
import org.jspecify.annotations.Nullable;

/**
 * The memory of all root allocators of the process that choose no other one: what the drop-in jar gives to Arrow. It is
 * opened by the first buffer, with the settings of the system properties {@code java.allocator.arrow.*} at that moment,
 * and stays open until {@link #close}.
 *
 * <p>An application that ends before its process, and closes its buffers, leaves nothing: idle memory goes back at the
 * next interval of {@code shrink_seconds}, with which the thread ends, and its class loader can be collected. With an
 * interval of 0, with {@code track_leaks}, or where the provider keeps idle memory, it is to call {@link #close}.
 *
 * <p>If it cannot be opened, each allocation throws an {@link IllegalStateException} that says why; the next one tries
 * again.
 */
public final class ProcessMemory {
    /** Where Arrow looks for its default allocation manager. */
    private static final String DEFAULT_MANAGER =
            "org/apache/arrow/memory/unsafe/DefaultAllocationManagerFactory.class";

    private static final Pattern LINE_BREAK = Pattern.compile("\\R");

    private static final Object LOCK = new Object();
    private static final AllocationManager.Factory FACTORY = new Lazily();

    /** Opened and closed under the lock. */
    private static volatile @Nullable ArrowMemory memory;

    /** Reports leaks; guarded by the lock. */
    private static @Nullable Thread hook;

    private ProcessMemory() {}

    /** Opens the memory by the first buffer, so that a failure reaches the program, not a class's initializer. */
    private static final class Lazily implements AllocationManager.Factory {
        @Override
        public AllocationManager create(BufferAllocator accountingAllocator, long size) {
            final ArrowMemory open = memory;
            return (open == null ? get() : open).create(accountingAllocator, size);
        }

        @Override
        public ArrowBuf empty() {
            return new ArrowBuf(ReferenceManager.NO_OP, null, 0, 0);
        }
    }

    /** {@return the allocation manager over this memory, the same one on every call} */
    public static AllocationManager.Factory factory() {
        return FACTORY;
    }

    /**
     * Returns the memory, for statistics, for a shrink, and for what leaks. Close it by {@link #close} only.
     *
     * @return the memory, the same on every call until it is closed
     * @throws IllegalStateException if it cannot be opened: a setting is wrong, the provider is not found, Arrow is too
     *     old, native access is missing, or several jars have Arrow's default allocation manager
     */
    public static ArrowMemory get() {
        synchronized (LOCK) {
            ArrowMemory open = memory;
            if (open == null) {
                open = open();
                memory = open;
            }
            return open;
        }
    }

    /**
     * Returns all memory to the system, when an application ends that is not the whole process. The next buffer opens
     * it again. Does nothing if it is not open. No allocation may be under way.
     *
     * @throws IllegalStateException if buffers are live; the memory stays open
     * @throws allocator.spi.DeviceException if the system does not take the memory back; another call tries again
     */
    public static void close() {
        synchronized (LOCK) {
            final ArrowMemory open = memory;
            if (open == null) {
                return;
            }
            open.close();
            memory = null;
            final Thread registered = hook;
            hook = null;
            if (registered != null) {
                try {
                    Runtime.getRuntime().removeShutdownHook(registered);
                } catch (IllegalStateException e) {
                    // The process is ending already.
                }
            }
        }
    }

    private static ArrowMemory open() {
        try {
            requireOneManager();
            final ProcessSettings settings = ProcessSettings.of(System.getProperties());
            final ArrowMemory opened = settings.open();
            boolean isUsable = false;
            try {
                opened.allocator().free(opened.allocator().alloc(1));
                opened.stats();
                opened.shrink(); // their classes too: an application's class loader may be closed before the next one
                hook = settings.isTrackingLeaks() ? reportLeaksAtTheEnd(opened) : null;
                isUsable = true;
            } finally {
                if (!isUsable) {
                    opened.close();
                }
            }
            return opened;
        } catch (RuntimeException | LinkageError e) {
            throw new IllegalStateException(
                    "Arrow has no memory: "
                            + LINE_BREAK.matcher(Failures.messageOf(e)).replaceAll(" "),
                    e);
        }
    }

    private static Thread reportLeaksAtTheEnd(ArrowMemory opened) {
        final Thread hook = new Thread(() -> reportLeaks(opened), "allocator-arrow-leaks");
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The process is ending already: what is live now is not reported.
        }
        return hook;
    }

    /** Prints to the standard error stream, since logging may have ended by then. */
    private static void reportLeaks(ArrowMemory opened) {
        final LeakReport report = opened.liveBuffers();
        if (report.blocks() > 0) {
            System.err.println("Arrow buffers at the end of the process: " + report);
        }
    }

    private static void requireOneManager() {
        final ClassLoader loader = AllocationManager.class.getClassLoader();
        final Set<String> places = new LinkedHashSet<>();
        try {
            (loader == null ? ClassLoader.getSystemClassLoader() : loader)
                    .getResources(DEFAULT_MANAGER)
                    .asIterator()
                    .forEachRemaining((URL place) -> places.add(place.toString().replace("!/" + DEFAULT_MANAGER, "")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (places.size() > 1) {
            throw new IllegalStateException(
                    "several jars have Arrow's default allocation manager, and their order on the"
                            + " path would decide; remove arrow-memory-unsafe or java-allocator-arrow-dropin: "
                            + String.join(", ", places));
        }
    }
}
