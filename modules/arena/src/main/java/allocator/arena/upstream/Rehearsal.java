package allocator.arena.upstream;

import allocator.provider.support.event.AllocatorEvents;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Runs every kind of call once on an allocator without memory, before the first real one is used.
 *
 * <p>A call site or class that cannot be linked at its first use, since the stack or the Java heap has ended there, is
 * unusable for the rest of the process (Java Virtual Machine Specification, 5.4.3 and 5.5). After a rehearsal all of
 * them are linked, and a call that fails for lack of either can be repeated.
 */
public final class Rehearsal {
    /** Addresses that are never read: those of the first page. */
    private static final long FIRST = 1 << 12;

    private final Consumer<Allocator> calls;
    private volatile boolean isDone;
    private boolean isRunning;

    /**
     * Plans a rehearsal.
     *
     * @param calls makes the calls on an upstream allocator without memory
     */
    public Rehearsal(Consumer<Allocator> calls) {
        this.calls = calls;
    }

    /** Rehearses, unless that has been done or is being done by this thread. */
    public void ensure() {
        if (!isDone) {
            rehearse();
        }
    }

    private synchronized void rehearse() {
        if (isDone || isRunning) {
            return;
        }
        isRunning = true;
        try {
            AllocatorEvents.prepare();
            AllocatorEvents.leaveOut(WithoutMemory.INFO);
            calls.accept(new WithoutMemory());
            isDone = true;
        } finally {
            isRunning = false;
        }
    }

    /**
     * Makes a call that is rejected.
     *
     * @param call the call
     */
    public static void reject(Runnable call) {
        try {
            call.run();
            throw new IllegalStateException("a call that must fail has returned");
        } catch (AllocatorException e) {
            // As it must be.
        }
    }

    /**
     * Creates an exception, and does not throw it.
     *
     * @param failure creates it
     */
    public static void create(Supplier<? extends Throwable> failure) {
        Objects.requireNonNull(failure.get());
    }

    /** Returns addresses, and has no memory. */
    private static final class WithoutMemory implements Allocator {
        private static final long MOST = 1 << 20;
        private static final MemoryInfo INFO = new MemoryInfo(
                "rehearsal",
                new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT),
                OptionKey.SIZE_GRANULARITY,
                AllocatorType.DEVICE);

        private long next = FIRST;

        @Override
        public long alloc(long byteSize) {
            if (byteSize > MOST) {
                throw new OutOfMemoryException("rehearsal", Shortage.ofDevice(INFO, byteSize, MOST));
            }
            final long address = next;
            next += (byteSize + FIRST) & -FIRST;
            return address;
        }

        @Override
        public void free(long address) {}

        @Override
        public MemoryInfo info() {
            return INFO;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.MINIMUM;
        }
    }
}
