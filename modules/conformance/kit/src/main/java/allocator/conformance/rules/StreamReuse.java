package allocator.conformance.rules;

import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Orders streams, and checks whether freed memory goes from one stream to another. */
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
     * Allocates repeatedly on a stream, or without one; fails if a block overlaps the freed one. Frees everything.
     *
     * @param story the events before, for the message
     */
    public static void requireNotReused(
            StreamAwareAllocator allocator, long freed, long byteSize, @Nullable SyncStream user, String story) {
        final List<Long> taken = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            final long address = user == null ? allocator.alloc(byteSize) : allocator.allocOnStream(byteSize, user);
            taken.add(address);
            if (address < freed + byteSize && freed < address + byteSize) {
                taken.forEach(allocator::free);
                Expect.that(
                        false,
                        "%s; then %d bytes at %s went to %s, while work of the first stream may still use them",
                        story,
                        byteSize,
                        Expect.hex(freed),
                        user == null ? "an allocation without a stream, which any stream may use" : "another stream");
            }
        }
        taken.forEach(allocator::free);
    }

    /**
     * Frees memory on one stream and allocates as much on another; fails if that takes more memory from the device.
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
        freed.forEach(allocator::free);
        between.accept(first, second);
        final long held = allocator.stats().bytesHeld();
        final List<Long> again = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            again.add(allocator.allocOnStream(MIB, second));
        }
        final long heldThen = allocator.stats().bytesHeld();
        again.forEach(allocator::free);
        Expect.that(
                heldThen <= held,
                "16 MiB were freed on one stream; after %s another stream needed 16 MiB, and %d bytes were "
                        + "held instead of"
                        + " %d: the freed memory was not used",
                what,
                heldThen,
                held);
    }
}
