package allocator.testkit;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs one random program over a provider's allocator again and again: call n of the device fails, for every n, once or
 * for good. After every step the statistics agree with what the program has and with what the device has given; once
 * the device works again and the provider is closed, nothing is left.
 *
 * <p>A program creates an allocator, allocates with and without streams, reserves, frees, shrinks, ends runs, opens and
 * closes streams, and releases everything.
 */
public final class FaultsInTurn {
    private static final int STEPS = 30;

    /** All sizes are multiples of it, so that no device rounds them up. */
    private static final long GRANULARITY = 512;

    private final Supplier<? extends Device> devices;

    /** How many runs there were. */
    private int turn;

    /** A provider on a new device. */
    public interface Device {
        /** Returns the provider, the same at every call. */
        EpFactory factory();

        /** Returns the memory under test, an info of the factory. */
        MemoryInfo memory();

        /** Returns the settings of the allocator. */
        AllocatorOptions options();

        /** Returns what decides which device call fails, the same object at every call. */
        FaultyCalls calls();

        /** Returns the bytes that the device has given for this memory and not got back, empty if that is not known. */
        OptionalLong bytesOut();

        /** Returns a line for each thing that was created on the device and not returned. */
        List<String> leaks();
    }

    /** Creates a harness; each device that is made is a new one. */
    public FaultsInTurn(Supplier<? extends Device> devices) {
        this.devices = devices;
    }

    /** Returns by name what any device call may throw, apart from the device's own report that it has no memory. */
    public static Map<String, Supplier<Throwable>> failures() {
        final Map<String, Supplier<Throwable>> failures = new LinkedHashMap<>();
        failures.put("DeviceException", () -> new DeviceException("injected", null));
        failures.put("RuntimeException", () -> new IllegalArgumentException("injected"));
        failures.put("Error", () -> new AssertionError("injected"));
        failures.put("OutOfMemoryError", () -> new OutOfMemoryError("injected"));
        failures.put("StackOverflowError", () -> new StackOverflowError("injected"));
        return failures;
    }

    /**
     * Runs the program of a seed once for each of its device calls. In a build a run takes a {@link Share} of them, and
     * the next run the calls beside. Returns how many calls failed in all.
     *
     * @param seed the seed
     * @param forGood whether all calls after the one that fails do so, too
     * @param failure what a call throws
     * @throws AssertionError if something was lost or a number is untrue; it names seed and call
     */
    public long run(long seed, boolean forGood, Supplier<? extends Throwable> failure) {
        long failures = 0;
        final long first = turn++ % Share.step();
        for (long number = 1 + first; ; number += Share.step()) {
            final Run run = new Run(devices.get());
            run.device.calls().failAt(number, forGood, failure);
            try {
                run.run(seed, forGood);
            } catch (Throwable e) {
                throw new AssertionError(
                        "seed " + seed + ", call " + number + " fails" + (forGood ? " for good" : " once"), e);
            }
            final long failed = run.device.calls().failures();
            if (failed == 0) {
                return failures;
            }
            failures += failed;
        }
    }

    /** One run of a program. */
    private static final class Run {
        private final Device device;
        private final FaultyCalls calls;
        private final List<Long> live = new ArrayList<>();
        private final List<Long> sizes = new ArrayList<>();
        private final List<SyncStream> streams = new ArrayList<>();
        private @Nullable Allocator allocator;
        private long outOfMemory;

        Run(Device device) {
            this.device = device;
            calls = device.calls();
        }

        void run(long seed, boolean forGood) {
            final EpFactory factory = device.factory();
            attempt(() -> allocator = factory.createAllocator(device.memory(), device.options()));
            final Allocator created = allocator;
            if (created != null) {
                use(created, new Random(seed));
                if (!forGood) {
                    calls.stop();
                    requireAllComesBack(created);
                }
                attempt(() -> factory.releaseAllocator(created));
            }
            streams.forEach(stream -> attempt(stream::close));
            attempt(factory::close);
            calls.stop();
            factory.close();
            require(device.leaks().isEmpty(), "left at the end: " + device.leaks());
            require(device.bytesOut().orElse(0) == 0, "bytes are left at the end: " + device.bytesOut());
        }

        /** Does something that a fault may end. */
        private void attempt(Runnable step) {
            final long before = calls.failures();
            try {
                step.run();
            } catch (Throwable e) {
                if (calls.failures() == before) {
                    throw e;
                }
            }
        }

        private void use(Allocator memory, Random random) {
            for (int step = 0; step < STEPS; step++) {
                final int kind = random.nextInt(12);
                final int choice = random.nextInt(1 << 20);
                final long byteSize = GRANULARITY * (1L << random.nextInt(13) | random.nextInt(16));
                step(memory, kind, choice, byteSize);
                verify(memory);
            }
        }

        private void step(Allocator memory, int kind, int choice, long byteSize) {
            switch (kind) {
                case 0, 1 -> allocate(byteSize, () -> memory.alloc(byteSize));
                case 2 -> allocate(byteSize, () -> memory.reserve(byteSize));
                case 3, 4, 5 -> allocateOnStream(memory, choice, byteSize);
                case 6, 7, 8 -> free(memory, choice);
                case 9 -> {
                    if (memory.as(ShrinkableAllocator.class).orElse(null) instanceof ShrinkableAllocator shrinkable) {
                        attempt(shrinkable::shrink);
                    }
                }
                case 10 -> openStream();
                default -> endOrClose(choice);
            }
        }

        private void allocate(long byteSize, Supplier<Long> allocation) {
            attempt(() -> {
                try {
                    live.add(allocation.get());
                    sizes.add(byteSize);
                } catch (OutOfMemoryException e) {
                    outOfMemory++;
                    throw e;
                }
            });
        }

        private void allocateOnStream(Allocator memory, int choice, long byteSize) {
            if (memory.as(StreamAwareAllocator.class).orElse(null) instanceof StreamAwareAllocator streamAware
                    && !streams.isEmpty()) {
                final SyncStream stream = streams.get(choice % streams.size());
                allocate(byteSize, () -> streamAware.allocOnStream(byteSize, stream));
            } else {
                allocate(byteSize, () -> memory.alloc(byteSize));
            }
        }

        private void free(Allocator memory, int choice) {
            if (!live.isEmpty()) {
                final int index = choice % live.size();
                final long address = live.get(index);
                attempt(() -> {
                    memory.free(address);
                    live.remove(index);
                    sizes.remove(index);
                });
            }
        }

        private void openStream() {
            if (device.factory().isStreamAware(device.memory())) {
                attempt(() -> streams.add(device.factory().createSyncStream(device.memory())));
            }
        }

        private void endOrClose(int choice) {
            if (!streams.isEmpty()) {
                final int index = choice % streams.size();
                if (choice % 2 == 0) {
                    attempt(streams.get(index)::onSessionRunEnd);
                } else {
                    attempt(streams.remove(index)::close);
                }
            }
        }

        private void verify(Allocator memory) {
            final AllocatorStats stats = calls.without(memory::stats);
            final long requested = sizes.stream().mapToLong(Long::longValue).sum();
            require(stats.requestedBytesInUse() == requested, "the program has " + requested + " bytes: " + stats);
            require(stats.bytesInUse() >= requested && stats.bytesInUse() <= stats.bytesHeld(), stats.toString());
            require(stats.bytesHeld() <= stats.peakBytesHeld(), stats.toString());
            require(
                    stats.numFailedAllocs() == outOfMemory,
                    outOfMemory + " calls failed with OutOfMemoryException: " + stats);
            device.bytesOut()
                    .ifPresent(out ->
                            require(stats.bytesHeld() == out, "the device has given " + out + " bytes: " + stats));
        }

        /** Once the device works again, a free, or a shrink if there is one, leaves what a new arena keeps at most. */
        private void requireAllComesBack(Allocator memory) {
            live.forEach(memory::free);
            live.clear();
            sizes.clear();
            streams.forEach(SyncStream::onSessionRunEnd);
            verify(memory);
            if (memory.as(ShrinkableAllocator.class).orElse(null) instanceof ShrinkableAllocator shrinkable) {
                shrinkable.shrink();
                verify(memory);
                final long left = shrinkable.shrink().bytesReleased();
                require(left == 0, "a second shrink released " + left + " bytes");
                final AllocatorStats stats = memory.stats();
                require(stats.bytesHeld() == 0 || stats.numArenaExtensions() > 0, "lost: " + stats);
            }
        }

        private static void require(boolean holds, String message) {
            if (!holds) {
                throw new AssertionError(message);
            }
        }
    }
}
