package allocator.arena;

import allocator.provider.support.Failures;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
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
 * A program that calls an arena at every distance from the end of a thread's stack. A call that fails changes nothing,
 * one that returns has done its work, and no lock stays locked. It may run in a JVM of its own, to be interpreted or
 * compiled in one way.
 */
final class StackExhaustion implements Runnable {
    private static final long STACK_BYTES = 320 << 10;
    private static final int ROUNDS = 20;
    private static final int OPERATIONS = 200;
    private static final int MOST_LIVE = 300;

    private final Random random = new Random(7);
    private final Device device = new Device();
    private final List<FakeStream> streams = List.of(new FakeStream(), new FakeStream());
    private final Map<Long, Long> live = new HashMap<>();
    private final List<Long> addresses = new ArrayList<>();
    private final ArenaSubject subject;
    private final Failures failures = new Failures();

    /** What the operation at the end of the stack returned. */
    private long result;

    private long allocs;
    private long overflows;
    private long completed;

    private StackExhaustion(ArenaSubject.Kind kind) {
        subject = kind.open(device);
    }

    /** A device whose own calls have the stack that the arena has ensured. */
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
            bytesOut -= out.remove(address);
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

    public static void main(String[] args) throws InterruptedException {
        run(ArenaSubject.Kind.valueOf(args[0]));
    }

    static void run(ArenaSubject.Kind kind) throws InterruptedException {
        final StackExhaustion program = new StackExhaustion(kind);
        final Thread thread = new Thread(null, program, "small stack", STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
        thread.join(120_000);
        if (thread.isAlive()) {
            throw new AssertionError("hangs at " + List.of(thread.getStackTrace()));
        }
        program.failures.throwIfAny();
        if (program.overflows < 100 || program.completed < 100) {
            throw new AssertionError(program.overflows + " overflows, " + program.completed + " completed calls");
        }
    }

    @Override
    public void run() {
        failures.run(() -> {
            for (int round = 0; round < ROUNDS; round++) {
                final int deepest = deepest();
                for (int i = 0; i < OPERATIONS; i++) {
                    // Most often near the end: a frame takes from 16 bytes, compiled, to a hundred, interpreted.
                    operation(Math.max(deepest + 2 - random.nextInt(1 << random.nextInt(2, 12)), 0));
                }
            }
            while (!addresses.isEmpty()) {
                subject.free(addresses.removeLast());
            }
            subject.close();
            ArenaSubject.require(device.bytesOut == 0, "bytes lost: " + device.bytesOut);
        });
    }

    /** Returns the greatest depth at which an empty operation does not fail. */
    private static int deepest() {
        int low = 0;
        int high = 1 << 20;
        while (low + 1 < high) {
            final int middle = (low + high) >>> 1;
            try {
                descend(middle, () -> {});
                low = middle;
            } catch (StackOverflowError e) {
                high = middle;
            }
        }
        return low;
    }

    private static void descend(int frames, Runnable operation) {
        if (frames == 0) {
            operation.run();
        } else {
            descend(frames - 1, operation);
        }
    }

    private void operation(int depth) {
        switch (random.nextInt(addresses.size() < MOST_LIVE ? 12 : 9)) {
            case 0 -> attempt(depth, () -> subject.endRun(streams.get(0)));
            case 1 -> attempt(depth, () -> subject.releaseStream(streams.get(1)));
            case 2 -> attempt(depth, subject::shrink);
            case 3 -> attempt(depth, subject::stats);
            case 4, 5, 6, 7 -> free(depth);
            case 8 -> allocate(depth, Math.max(1, random.nextInt(5000)), byteSize -> subject.reserve(byteSize));
            case 9 ->
                allocate(
                        depth, 1 + random.nextInt(60_000), byteSize -> subject.allocOnStream(byteSize, streams.get(0)));
            case 10 ->
                allocate(depth, 1 + random.nextInt(2000), byteSize -> subject.allocOnStream(byteSize, streams.get(1)));
            default -> allocate(depth, 1 + random.nextInt(4000), byteSize -> subject.alloc(byteSize));
        }
        verify();
    }

    private interface Allocation {
        long allocate(long byteSize);
    }

    private void allocate(int depth, long byteSize, Allocation allocation) {
        if (attempt(depth, () -> result = allocation.allocate(byteSize))) {
            ArenaSubject.require(live.put(result, byteSize) == null, "handed out twice: " + result);
            addresses.add(result);
            allocs++;
        }
    }

    private void free(int depth) {
        if (!addresses.isEmpty()) {
            final int index = random.nextInt(addresses.size());
            final long address = addresses.get(index);
            if (attempt(depth, () -> subject.free(address))) {
                live.remove(address);
                addresses.set(index, addresses.getLast());
                addresses.removeLast();
            }
        }
    }

    private boolean attempt(int depth, Runnable operation) {
        try {
            descend(depth, operation);
            completed++;
            return true;
        } catch (StackOverflowError e) {
            overflows++;
            return false;
        }
    }

    private void verify() {
        subject.verify(live);
        final AllocatorStats stats = subject.stats();
        final long requested = live.values().stream().mapToLong(Long::longValue).sum();
        ArenaSubject.require(stats.requestedBytesInUse() == requested, "requested " + requested + ", not " + stats);
        ArenaSubject.require(stats.numAllocs() == allocs, "allocations " + allocs + ", not " + stats);
        ArenaSubject.require(
                stats.bytesHeld() == device.bytesOut, "out of the device " + device.bytesOut + ", not " + stats);
    }
}
