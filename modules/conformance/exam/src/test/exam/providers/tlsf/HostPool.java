package exam.tlsf;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** The device: the share of the process's memory that this provider may take. */
final class HostPool {
    static final long CAPACITY = 512L << 20;

    private static long taken;

    private HostPool() {}

    /** A span of host memory. */
    static final class Span {
        private Arena lifetime;
        MemorySegment segment;
        long byteSize;

        long address() {
            return segment.address();
        }
    }

    /**
     * Takes a span.
     *
     * @param span to be filled in
     * @return whether there was memory
     */
    static boolean take(Span span, long byteSize, long byteAlignment) {
        synchronized (HostPool.class) {
            if (byteSize > CAPACITY - taken) {
                return false;
            }
            taken += byteSize;
        }
        boolean isTaken = false;
        try {
            span.byteSize = byteSize;
            span.lifetime = Arena.ofShared();
            span.segment = span.lifetime.allocate(byteSize, byteAlignment);
            isTaken = true;
        } catch (OutOfMemoryError e) {
            return false;
        } finally {
            if (!isTaken) {
                untake(byteSize);
            }
        }
        return true;
    }

    /** Gives a span back. If it throws, the span is still there. */
    static void give(Span span) {
        span.lifetime.close();
        untake(span.byteSize);
    }

    /** Returns how much may be taken. */
    static synchronized long available() {
        return CAPACITY - taken;
    }

    private static synchronized void untake(long byteSize) {
        taken -= byteSize;
    }
}
