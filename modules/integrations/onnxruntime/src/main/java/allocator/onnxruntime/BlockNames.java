package allocator.onnxruntime;

import allocator.onnxruntime.MemoryProfile.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The names of one session's blocks. While the session is opened all are weights. A profiled run is noted; later runs
 * are compared with it, allocation by allocation. From the first one that differs, a run's blocks have no name: neither
 * have those of runs at once, and of threads other than the run's.
 *
 * <p>Safe for use by any thread. Makes no object for a block once the session is profiled.
 */
final class BlockNames {
    /** The name of what is allocated while the session is opened. */
    static final String WEIGHTS = "weights (" + Kind.WEIGHT + ")";

    private static final Expected[] NONE = {};

    private final ProfileFile file = new ProfileFile();

    private volatile boolean isOpening = true;
    private volatile boolean isProfiled;

    /** Notes what happens while the session is profiled; otherwise {@code null}. */
    private volatile @Nullable Notes notes;

    private volatile Expected[] run = NONE;

    /** The thread whose allocations are compared, {@code null} if none are. */
    private volatile @Nullable Thread thread;

    /** The runs that have begun and not ended. Guarded by this. */
    private int runs;

    /** The position in the run. Of the run's thread only, as the bytes. */
    private int next;

    /** The bytes that the run has in use. */
    private long inUse;

    /**
     * An allocation of later runs.
     *
     * @param from the memory
     * @param byteSize the bytes
     * @param inUse the bytes that the run has in use before it
     * @param name its name, {@code null} if it is not known
     */
    record Expected(
            ExportedAllocator from,
            long byteSize,
            long inUse,
            @Nullable String name) {}

    /**
     * An allocation or a free.
     *
     * @param nanos when, by the profile's clock
     * @param isOfRun whether it was on the thread of the profiled runs
     * @param change the bytes, less than 0 for a free
     * @param used the bytes in use with the block, and with those that other threads are about to note or have freed
     */
    record Event(ExportedAllocator from, long nanos, boolean isOfRun, long address, long change, long used) {}

    /** What happens while the session is profiled. */
    private static final class Notes {
        private final LongSupplier clock;
        private final Thread thread = Thread.currentThread();
        private final List<Event> events = new ArrayList<>();

        Notes(LongSupplier clock) {
            this.clock = clock;
        }

        synchronized void add(ExportedAllocator from, long address, long change) {
            events.add(new Event(
                    from,
                    clock.getAsLong(),
                    Thread.currentThread().equals(thread),
                    address,
                    change,
                    from.budget().used()));
        }

        /** Returns the events so far and forgets them. */
        synchronized List<Event> take() {
            final List<Event> taken = List.copyOf(events);
            events.clear();
            return taken;
        }
    }

    ProfileFile file() {
        return file;
    }

    /** Begins a run, or the creation of the session. */
    synchronized void begin() {
        runs++;
        thread = null;
        if (runs == 1 && run.length > 0) {
            next = 0;
            inUse = 0;
            thread = Thread.currentThread();
        }
    }

    /** Ends what {@link #begin} has begun. */
    synchronized void end() {
        runs--;
        thread = null;
        isOpening = false;
    }

    /** Returns whether ONNX Runtime's profiler has ended. */
    boolean isProfiled() {
        return isProfiled;
    }

    /** Sets that ONNX Runtime's profiler has ended. */
    void endProfiler() {
        isProfiled = true;
    }

    /**
     * Begins to note what happens; the caller's thread is that of the runs.
     *
     * @throws IllegalStateException if it is being noted
     */
    synchronized void beginNotes(LongSupplier clock) {
        if (notes != null) {
            throw new IllegalStateException("the session is being profiled");
        }
        notes = new Notes(clock);
    }

    /** Returns what happened since the last call and forgets it. */
    List<Event> takeNotes() {
        final Notes current = notes;
        return current == null ? List.of() : current.take();
    }

    /** Ends the notes. */
    void endNotes() {
        notes = null;
    }

    /** Sets what later runs are compared with. */
    void expect(List<Expected> allocations) {
        run = allocations.toArray(NONE);
    }

    /** Returns the name of a block that was allocated; {@code null} if it is not known. */
    @Nullable
    String allocated(ExportedAllocator from, long address, long byteSize) {
        if (isOpening) {
            return WEIGHTS;
        }
        final Notes current = notes;
        if (current != null) {
            current.add(from, address, byteSize);
            return null;
        }
        if (!Thread.currentThread().equals(thread)) {
            return null;
        }
        final Expected expected = next(from, byteSize);
        if (expected == null) {
            thread = null;
            return null;
        }
        next++;
        inUse += byteSize;
        return expected.name();
    }

    /** Returns the name of a block that could not be allocated; {@code null} if it is not known. */
    @Nullable
    String failed(ExportedAllocator from, long byteSize) {
        if (isOpening) {
            return WEIGHTS;
        }
        final Expected expected = Thread.currentThread().equals(thread) ? next(from, byteSize) : null;
        return expected == null ? null : expected.name();
    }

    private @Nullable Expected next(ExportedAllocator from, long byteSize) {
        final Expected[] expected = run;
        if (next >= expected.length) {
            return null;
        }
        final Expected one = expected[next];
        return one.from().equals(from) && one.byteSize() == byteSize && one.inUse() == inUse ? one : null;
    }

    /** Notes that a block is about to be freed. */
    void freeing(ExportedAllocator from, long address, long byteSize) {
        final Notes current = notes;
        if (current != null) {
            current.add(from, address, -byteSize);
        } else if (Thread.currentThread().equals(thread)) {
            inUse -= byteSize;
        }
    }
}
