package allocator.bench.subject;

import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import java.util.OptionalLong;

/** The allocator of a session with {@code cpu-reference}, as applications use it. */
class SessionSubject extends Subject {
    private final Environment environment =
            Environment.builder().allowModules("java.allocator.cpu.reference").build();
    private final Session session = environment.openSession(SessionOptions.DEFAULT);
    private final ManagedAllocator allocator = session.allocator();

    private SessionSubject() {}

    /** Blocks without a stream. */
    static Subject open() {
        return new SessionSubject();
    }

    /** Blocks on streams, one for each thread. */
    static Subject onStreams() {
        final SessionSubject subject = new SessionSubject() {
            @Override
            public Slots slots(int count) {
                return new StreamSlots(allocator(), count);
            }
        };
        if (!subject.allocator().isStreamAware()) {
            throw new IllegalStateException(subject.allocator() + " is not stream-aware");
        }
        return subject;
    }

    final ManagedAllocator allocator() {
        return allocator;
    }

    @Override
    public Slots slots(int count) {
        return new AddressSlots(allocator, count);
    }

    @Override
    public OptionalLong bytesHeld() {
        return OptionalLong.of(allocator.stats().bytesHeld());
    }

    @Override
    public final void close() {
        session.close();
        environment.close();
    }
}
