package allocator.conformance.rules;

import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.AllocatorStats;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/** Orders streams, and checks that freed memory goes from one stream to another in order. */
public final class StreamReuse {
    private static final long MIB = 1 << 20;

    private StreamReuse() {}

    /** Makes {@code consumer} wait for everything that was submitted to {@code producer} so far. */
    public static void order(SyncStream producer, SyncStream consumer) {
        try (SyncNotification notification = producer.createNotification()) {
            notification.activate();
            notification.waitOnDevice(consumer);
        }
    }

    /**
     * Frees memory on one stream and allocates as much on another; fails if that takes more memory from the device,
     * unless less than that is held by then: the rest went back, and serves every stream, in a larger region maybe.
     *
     * @param what describes {@code between}, for the message
     * @param between what happens after the free, to the first and the second stream
     */
    public static void requireReuse(
            Subject subject, StreamAwareAllocator allocator, String what, BiConsumer<SyncStream, SyncStream> between) {
        subject.stats(allocator);
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final List<Long> freed = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            freed.add(allocator.allocOnStream(MIB, first));
        }
        final AllocatorStats full = allocator.stats();
        freed.forEach(allocator::free);
        between.accept(first, second);
        final long left = allocator.stats().bytesHeld();
        final List<Long> again = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            again.add(allocator.allocOnStream(MIB, second));
        }
        final long heldThen = allocator.stats().bytesHeld();
        again.forEach(allocator::free);
        first.close();
        second.close();
        Expect.that(
                heldThen <= full.bytesHeld() || left < full.bytesInUse(),
                "16 MiB were freed on one stream; after %s another stream needed 16 MiB, and %d bytes were "
                        + "held instead of"
                        + " %d: the freed memory was not used",
                what,
                heldThen,
                full.bytesHeld());
    }
}
