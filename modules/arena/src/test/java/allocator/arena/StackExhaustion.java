package allocator.arena;

import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A program that calls an arena at every distance from the end of a thread's stack. Whatever a call did that failed,
 * the next one finds no lock locked and the tables whole, and gets no memory that is in use. It may run in a JVM of its
 * own, to be interpreted or compiled in one way.
 */
final class StackExhaustion {
    /** Calls that overflowed, and calls that did not: how many depends on what is compiled when, a tenth and more. */
    private static final int FEWEST_CALLS = 20;

    private static final int OPERATIONS = 500;
    private static final int MOST_LIVE = 150;

    private final Random random = new Random(7);
    private final Device device = new Device();
    private final List<FakeStream> streams = List.of(new FakeStream(), new FakeStream());
    private final Map<Long, Long> live = new HashMap<>();
    private final List<Long> addresses = new ArrayList<>();
    private final ArenaSubject subject;

    /** What the operation at the end of the stack returned. */
    private long result;

    private StackExhaustion(ArenaSubject.Kind kind) {
        subject = kind.open(device);
    }

    /** A device. A free in which the stack ends may have had its effect; the next one finds no block. */
    private static final class Device implements Allocator {
        private final MemoryInfo info = new FakeDevice().info();
        private final Map<Long, Long> out = new HashMap<>();
        private long next = 1 << 20;
        private long bytesOut;

        @Override
        public long alloc(long byteSize) {
            final long address = next;
            next += byteSize + 4096 & -4096;
            out.put(address, byteSize);
            bytesOut += byteSize;
            return address;
        }

        @Override
        public void free(long address) {
            final Long byteSize = out.remove(address);
            if (byteSize == null) {
                throw new ForeignAddressException(address, "not a block of the device");
            }
            bytesOut -= byteSize;
        }

        @Override
        public MemoryInfo info() {
            return info;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.MINIMUM;
        }
    }

    public static void main(String[] args) {
        run(ArenaSubject.Kind.valueOf(args[0]));
    }

    static void run(ArenaSubject.Kind kind) {
        SmallStack.run(new StackExhaustion(kind)::run);
    }

    private void run(SmallStack stack) {
        for (int i = 0; i < OPERATIONS; i++) {
            operation(stack);
        }
        while (!addresses.isEmpty()) {
            subject.free(addresses.removeLast());
        }
        subject.close();
        ArenaSubject.require(
                stack.overflows() > FEWEST_CALLS && stack.completed() > FEWEST_CALLS,
                stack.overflows() + " overflows, " + stack.completed() + " completed calls");
    }

    private void operation(SmallStack stack) {
        switch (random.nextInt(addresses.size() < MOST_LIVE ? 12 : 9)) {
            case 0 -> stack.callNearEnd(12, () -> subject.endRun(streams.get(0)));
            case 1 -> stack.callNearEnd(12, () -> subject.releaseStream(streams.get(1)));
            case 2 -> stack.callNearEnd(12, subject::shrink);
            case 3 -> stack.callNearEnd(12, subject::stats);
            case 4, 5, 6, 7 -> free(stack);
            case 8 -> allocate(stack, Math.max(1, random.nextInt(5000)), byteSize -> subject.reserve(byteSize));
            case 9 ->
                allocate(
                        stack, 1 + random.nextInt(60_000), byteSize -> subject.allocOnStream(byteSize, streams.get(0)));
            case 10 ->
                allocate(stack, 1 + random.nextInt(2000), byteSize -> subject.allocOnStream(byteSize, streams.get(1)));
            default -> allocate(stack, 1 + random.nextInt(4000), byteSize -> subject.alloc(byteSize));
        }
        verify();
    }

    private interface Allocation {
        long allocate(long byteSize);
    }

    private void allocate(SmallStack stack, long byteSize, Allocation allocation) {
        if (stack.callNearEnd(12, () -> result = allocation.allocate(byteSize))) {
            final long start = result;
            live.forEach((address, size) -> ArenaSubject.require(
                    start + byteSize <= address || address + size <= start, "handed out twice: " + start));
            live.put(start, byteSize);
            addresses.add(result);
        }
    }

    private void free(SmallStack stack) {
        if (!addresses.isEmpty()) {
            final int index = random.nextInt(addresses.size());
            final long address = addresses.get(index);
            // Where the stack ends, the free has had its effect or none.
            live.remove(address);
            addresses.set(index, addresses.getLast());
            addresses.removeLast();
            stack.callNearEnd(12, () -> subject.free(address));
        }
    }

    private void verify() {
        subject.verify(live);
        final AllocatorStats stats = subject.stats();
        final long requested = live.values().stream().mapToLong(Long::longValue).sum();
        ArenaSubject.require(stats.requestedBytesInUse() >= requested, "requested " + requested + ", not " + stats);
        ArenaSubject.require(
                stats.bytesHeld() <= device.bytesOut, "out of the device " + device.bytesOut + ", not " + stats);
    }
}
