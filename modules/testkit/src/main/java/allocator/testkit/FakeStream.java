package allocator.testkit;

import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A stream without a device, whose work is always done.
 *
 * <p>Its hook sees {@code createNotification}, {@code flush}, {@code onSessionRunEnd} (and then {@code flush}),
 * {@code close}, {@code closeIdle}, and, of its notifications, {@code record}, {@code enqueueWait} and {@code await}.
 */
public class FakeStream extends SyncStream {
    private final AtomicInteger flushes = new AtomicInteger();
    private final AtomicInteger runEnds = new AtomicInteger();
    private final AtomicInteger waits = new AtomicInteger();
    private volatile Consumer<String> before = Faults.NONE;
    private volatile long handle;
    private volatile boolean isClosed;

    /** Creates a stream of {@link FakeDevice#INFO}. */
    public FakeStream() {
        this(FakeDevice.INFO);
    }

    /** Creates a stream whose handle differs from that of every other one. */
    @SuppressWarnings("this-escape") // id() is final and reads a field
    public FakeStream(MemoryInfo memory) {
        super(memory);
        handle = 0x100 + id();
    }

    /** Sets the hook, which is called with the name of each operation. */
    public FakeStream before(Consumer<String> hook) {
        before = hook;
        return this;
    }

    /** Sets what {@link #handle()} returns from now on. */
    public FakeStream handle(long handle) {
        this.handle = handle;
        return this;
    }

    /** Makes another stream wait for all work submitted to this one so far. */
    public void notifyAndWait(SyncStream consumer) {
        try (SyncNotification notification = createNotification()) {
            notification.activate();
            notification.waitOnDevice(consumer);
        }
    }

    /** Returns how often this stream was flushed, as its hook let pass; the end of a run is a flush too. */
    public int flushes() {
        return flushes.get();
    }

    /** Returns how many runs ended on this stream, as its hook let pass. */
    public int runEnds() {
        return runEnds.get();
    }

    /** Returns how often this stream waited for a notification of a {@code FakeStream}. */
    public int waits() {
        return waits.get();
    }

    /** Returns whether {@link #close} was called, even if it failed. */
    public boolean isClosed() {
        return isClosed;
    }

    private void enter(String operation) {
        if (isClosed) {
            throw new IllegalStateException(this + " is closed");
        }
        before.accept(operation);
    }

    @Override
    public long handle() {
        return handle;
    }

    @Override
    public SyncNotification createNotification() {
        enter("createNotification");
        return new Notification(this);
    }

    @Override
    public void flush() {
        enter("flush");
        flushes.incrementAndGet();
    }

    @Override
    public void onSessionRunEnd() {
        enter("onSessionRunEnd");
        runEnds.incrementAndGet();
        flush();
    }

    /**
     * Closes the stream; its hook runs after that, as the contract has it for a driver that fails here. A further call
     * does what is left.
     */
    @Override
    public void close() {
        close("close");
    }

    @Override
    public void closeIdle() {
        close("closeIdle");
    }

    private void close(String operation) {
        isClosed = true;
        if (!hasEnded()) {
            before.accept(operation);
            setEnded();
        }
    }

    /** A point that is reached as soon as it is recorded. */
    private static final class Notification extends SyncNotification {
        private final FakeStream producer;

        Notification(FakeStream producer) {
            super(producer);
            this.producer = producer;
        }

        @Override
        protected void record() {
            producer.before.accept("record");
        }

        @Override
        protected void enqueueWait(SyncStream consumer) {
            producer.before.accept("enqueueWait");
            if (consumer instanceof FakeStream waiting) {
                waiting.waits.incrementAndGet();
            }
        }

        @Override
        protected void await() {
            producer.before.accept("await");
        }

        @Override
        public void close() {}
    }
}
