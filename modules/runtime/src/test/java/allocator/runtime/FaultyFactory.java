package allocator.runtime;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeMemory;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * A provider whose calls fail in turn, and that knows what of it is out. A call that fails has done nothing, but a free
 * that fails for its device has taken effect, and a release or close that fails {@linkplain Fault#isAfter takes effect
 * or not}.
 */
final class FaultyFactory implements EpFactory {
    /**
     * Which calls fail.
     *
     * @param thrown makes what a call throws
     * @param first the first call that fails, from 1
     * @param isForGood whether all later calls fail too
     * @param isAfter whether a release or close takes effect although it fails
     */
    record Fault(Supplier<Throwable> thrown, int first, boolean isForGood, boolean isAfter) {
        static final Fault NONE = new Fault(IllegalStateException::new, Integer.MAX_VALUE, false, false);

        boolean isDue(int call) {
            return isForGood ? call >= first : call == first;
        }
    }

    static final MemoryInfo DEVICE = FakeMemory.memory("Cuda", DeviceType.GPU, 0, MemoryType.DEFAULT);
    private static final MemoryInfo PINNED = FakeMemory.memory("Pinned", DeviceType.GPU, 0, MemoryType.HOST_ACCESSIBLE);
    private static final MemoryInfo READ_ONLY = FakeMemory.readOnly("ReadOnly", DeviceType.GPU, 0);
    private static final List<OptionKey<?>> KEYS =
            List.of(OptionKey.bytes("arena.max_mem", 0, "no effect"), OptionKey.EXCLUSIVE);

    private final Map<MemoryInfo, FakeAllocator> shared = new HashMap<>();
    private final IdentityHashMap<Allocator, Integer> references = new IdentityHashMap<>();
    private final List<FakeAllocator> created = new ArrayList<>();
    private int openStreams;
    private boolean isClosed;
    private Fault fault = Fault.NONE;
    private int calls;
    private int rejectedReleases;

    /** Sets which calls fail, counted from now on. */
    void fault(Fault next) {
        fault = next;
        calls = 0;
    }

    /** Returns how many calls were made since {@link #fault}. */
    int calls() {
        return calls;
    }

    /** Returns how many releases were one too many. */
    int rejectedReleases() {
        return rejectedReleases;
    }

    /** Describes what is out: references, streams, live blocks, allocators, the factory itself. Empty if nothing is. */
    List<String> out() {
        final List<String> out = new ArrayList<>();
        references.forEach((allocator, count) -> out.add(count + " references to " + allocator.info()));
        created.stream().filter(one -> !one.isClosed()).forEach(one -> out.add("open: " + one.info()));
        created.stream().filter(one -> !one.live().isEmpty()).forEach(one -> out.add("live: " + one.live()));
        if (openStreams > 0) {
            out.add(openStreams + " streams");
        }
        if (!isClosed) {
            out.add("the factory");
        }
        return out;
    }

    /** A decorator that fails as a call of the provider does. */
    Allocator decorated(Allocator allocator) {
        call();
        return allocator;
    }

    private void call(Runnable effect, boolean mayBeAfter) {
        calls++;
        if (!fault.isDue(calls)) {
            effect.run();
            return;
        }
        final Throwable thrown = fault.thrown().get();
        if (mayBeAfter && fault.isAfter()) {
            effect.run();
        }
        FaultyFactory.<RuntimeException>sneak(thrown);
    }

    private void call() {
        call(() -> {}, false);
    }

    @SuppressWarnings("unchecked") // the cast does nothing at run time
    private static <T extends Throwable> void sneak(Throwable thrown) throws T {
        throw (T) thrown;
    }

    @Override
    public String name() {
        call();
        return "Faulty";
    }

    @Override
    public String vendor() {
        call();
        return "tests";
    }

    @Override
    public String version() {
        call();
        return "1";
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        call();
        return KEYS;
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        call();
        return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.GPU, 0, 0, "gpu", Map.of()))
                .memory(DEVICE)
                .memory(PINNED)
                .memory(READ_ONLY)
                .build());
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        call();
        final boolean isOwn = info.isReadOnly() || options.get(OptionKey.EXCLUSIVE);
        final FakeAllocator known = isOwn ? null : shared.get(info);
        final FakeAllocator allocator = known == null ? new FaultyAllocator(info) : known;
        if (known == null) {
            created.add(allocator);
            if (!isOwn) {
                shared.put(info, allocator);
            }
        }
        references.merge(allocator, 1, Integer::sum);
        return allocator;
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        if (!references.containsKey(allocator)) {
            rejectedReleases++;
            throw new UnknownAllocatorException("not out");
        }
        call(
                () -> {
                    if (references.merge(allocator, -1, Integer::sum) == 0) {
                        references.remove(allocator);
                        ((FakeAllocator) allocator).close();
                        shared.values().remove(allocator);
                    }
                },
                true);
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        call();
        return true;
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        call();
        openStreams++;
        return new FaultyStream(info);
    }

    @Override
    public void close() {
        if (isClosed) {
            return;
        }
        call(
                () -> {
                    if (!references.isEmpty() || openStreams > 0) {
                        throw new IllegalStateException("still out: " + out());
                    }
                    isClosed = true;
                },
                true);
    }

    private final class FaultyStream extends FakeStream {
        FaultyStream(MemoryInfo memory) {
            super(memory);
        }

        @Override
        public void onSessionRunEnd() {
            call();
            super.onSessionRunEnd();
        }

        @Override
        public void close() {
            if (!isClosed()) {
                call(
                        () -> {
                            openStreams--;
                            super.close();
                        },
                        true);
            }
        }
    }

    private final class FaultyAllocator extends FakeAllocator.Full {
        FaultyAllocator(MemoryInfo info) {
            super(info);
            before(operation -> {
                if (!operation.equals("free")) {
                    call();
                }
            });
        }

        @Override
        public void free(long address) {
            calls++;
            if (fault.isDue(calls)) {
                final Throwable thrown = fault.thrown().get();
                if (thrown instanceof DeviceException) {
                    super.free(address);
                }
                FaultyFactory.<RuntimeException>sneak(thrown);
            }
            super.free(address);
        }

        @Override
        public MemoryInfo info() {
            call();
            return super.info();
        }

        @Override
        public int spiLevel() {
            call();
            return super.spiLevel();
        }
    }
}
