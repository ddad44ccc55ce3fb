package allocator.provider.support.event;

import allocator.provider.support.event.RecentEvent.Kind;
import allocator.spi.MemoryInfo;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The latest events, in tables of a fixed length. An event takes the next number, and the place of that number modulo
 * the length; it allocates nothing and never waits.
 *
 * <pre>
 *   numbers | [0] the number plus 1, 0 while it is being written | [1] nanos | [2] address | [3] bytes | [4] stream
 * </pre>
 *
 * <p>A reader takes an event whose first field is the same before and after. Two writers are in one place only if one
 * of them was overtaken by a whole length of events in between; such an event may be mixed up.
 *
 * <p>The clock is asked at one allocation or free in 16, since that takes as long as all else, and at each other event.
 */
final class EventRing {
    private static final int FIELDS = 5;
    private static final int CLOCK_MASK = 15;
    private static final VarHandle NUMBER = MethodHandles.arrayElementVarHandle(long[].class);

    private final AtomicLong next = new AtomicLong();
    private final int mask;
    private final long[] fields;
    private final @Nullable Kind[] kinds;
    private final String[] owners;
    private final @Nullable MemoryInfo[] memories;

    /** The time of the latest event at which the clock was asked. Written without a lock: times are approximate. */
    private long nanos = System.nanoTime();

    /**
     * Creates an empty ring.
     *
     * @param length how many events it has room for: a power of two
     */
    EventRing(int length) {
        mask = length - 1;
        fields = new long[Math.multiplyExact(FIELDS, length)];
        kinds = new @Nullable Kind[length];
        owners = new String[length];
        memories = new @Nullable MemoryInfo[length];
    }

    void add(Kind kind, String owner, MemoryInfo memory, long address, long byteSize, long stream) {
        final long number = next.getAndIncrement();
        if ((number & CLOCK_MASK) == 0 || (kind != Kind.ALLOCATION && kind != Kind.FREE)) {
            nanos = System.nanoTime();
        }
        final int place = (int) number & mask;
        final int at = FIELDS * place;
        NUMBER.setRelease(fields, at, 0L);
        VarHandle.storeStoreFence();
        fields[at + 1] = nanos;
        fields[at + 2] = address;
        fields[at + 3] = byteSize;
        fields[at + 4] = stream;
        kinds[place] = kind;
        owners[place] = owner;
        memories[place] = memory;
        NUMBER.setRelease(fields, at, number + 1);
    }

    /** Returns the events, the oldest first. Those that are being written are left out. */
    List<RecentEvent> copy() {
        final long end = next.get();
        final long now = System.nanoTime();
        final List<RecentEvent> events = new ArrayList<>();
        for (long number = Math.max(0, end - mask - 1); number < end; number++) {
            final int place = (int) number & mask;
            final int at = FIELDS * place;
            final long before = (long) NUMBER.getAcquire(fields, at);
            final long time = fields[at + 1];
            final long address = fields[at + 2];
            final long byteSize = fields[at + 3];
            final long stream = fields[at + 4];
            final Kind kind = kinds[place];
            final String owner = owners[place];
            final MemoryInfo memory = memories[place];
            VarHandle.loadLoadFence();
            final long after = (long) NUMBER.getOpaque(fields, at);
            if (before == after && before == number + 1 && kind != null && memory != null) {
                events.add(new RecentEvent(kind, Math.max(0, now - time), owner, memory, address, byteSize, stream));
            }
        }
        return events;
    }
}
