package allocator.runtime;

import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** A stream without work. */
final class FakeStream extends SyncStream {
    final AtomicInteger runEnds = new AtomicInteger();
    volatile boolean isClosed;

    /** Runs before each call, and may throw. */
    volatile Consumer<String> before = operation -> {};

    private final FakeFactory factory;

    FakeStream(MemoryInfo memory, FakeFactory factory) {
        super(memory);
        this.factory = factory;
    }

    @Override
    public long handle() {
        return 0;
    }

    @Override
    public SyncNotification createNotification() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void flush() {}

    @Override
    public void onSessionRunEnd() {
        before.accept("onSessionRunEnd");
        factory.log.add("run end");
        runEnds.incrementAndGet();
    }

    @Override
    public void close() {
        isClosed = true;
        factory.log.add("close stream");
        before.accept("close");
    }
}
