package allocator.bench.subject;

import java.util.OptionalLong;

/** An allocator to measure, open until it is closed. */
public abstract class Subject implements AutoCloseable {
    /** Blocks for one thread, which asks for them itself. */
    public abstract Slots slots(int count);

    /** A thread of the kind that suits the allocator. */
    public Thread thread(Runnable work) {
        return new Thread(work);
    }

    /** What the allocator says that it holds of the system's memory; empty if it does not say. */
    public OptionalLong bytesHeld() {
        return OptionalLong.empty();
    }

    /** Ends the use; every block is freed. */
    @Override
    public abstract void close();
}
