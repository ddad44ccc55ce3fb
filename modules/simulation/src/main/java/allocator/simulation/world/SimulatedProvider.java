package allocator.simulation.world;

import allocator.arena.ArenaConfig;
import allocator.arena.ArenaOptions;
import allocator.arena.BfcArena;
import allocator.arena.StreamArenaAllocator;
import allocator.provider.support.References;
import allocator.provider.support.UnreturnedMemory;
import allocator.provider.support.internal.Endings;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A provider of arenas on a simulated device, shared or exclusive. Each of its calls may fail before it has an effect;
 * those that give something back may fail after it as well, whatever they throw; a repeated release is accepted then.
 */
final class SimulatedProvider implements EpFactory {
    private static final MemoryInfo READ_ONLY =
            new MemoryInfo("SimulatedReadOnly", SimulatedDevice.INFO.location(), 256, AllocatorType.READ_ONLY);
    private static final List<OptionKey<?>> KEYS = Stream.<OptionKey<?>>concat(
                    Stream.of(OptionKey.EXCLUSIVE), ArenaOptions.KEYS.stream())
            .toList();

    private final SimulatedDevice device;
    private final Model model;
    private final References<StreamArenaAllocator> references = new References<>();
    private final Endings endings = new Endings();
    private final List<ProviderStream> openStreams = new ArrayList<>();

    /** How often the release of an allocator has failed after it had its effect, so that it may be repeated. */
    private final Map<Allocator, Integer> unsure = new HashMap<>();

    private boolean isClosed;

    SimulatedProvider(SimulatedDevice device, Model model) {
        this.device = device;
        this.model = model;
    }

    /** A stream without work. */
    private final class ProviderStream extends SimulatedStream {
        private boolean isClosed;

        ProviderStream() {
            super(device::call);
        }

        @Override
        public void onSessionRunEnd() {
            requireOpen();
            device.call();
            references.forEachOpen(allocator -> allocator.endRun(this));
        }

        private void requireOpen() {
            if (isClosed) {
                model.violate("a stream is used after its close");
            }
        }

        @Override
        public void close() {
            device.callToGiveBack();
            if (isClosed) {
                return;
            }
            isClosed = true;
            openStreams.remove(this);
            setEnded();
            references.forEachOpen(allocator -> allocator.releaseStream(this));
            device.call();
        }
    }

    @Override
    public String name() {
        return "simulated";
    }

    @Override
    public String vendor() {
        return "simulation";
    }

    @Override
    public String version() {
        return "1";
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return KEYS;
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        final HardwareDevice hardware =
                new HardwareDevice(SimulatedDevice.INFO.location().deviceType(), 0, 0, "simulated", Map.of());
        return DeviceDiscovery.of(EpDevice.on(hardware)
                .memory(SimulatedDevice.INFO)
                .memory(READ_ONLY)
                .build());
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        options.requireValid(KEYS);
        device.call();
        requireOpen();
        if (info.equals(READ_ONLY)) {
            return references.acquireExclusive(() -> new Arena(info, options));
        }
        return options.get(OptionKey.EXCLUSIVE)
                ? references.acquireExclusive(() -> new Arena(info, options))
                : references.acquireShared(info, () -> new Arena(info, options));
    }

    private void requireOpen() {
        if (isClosed) {
            model.violate("a provider is used after its close");
        }
    }

    /** An arena on the device, for one of its memories. */
    private final class Arena extends StreamArenaAllocator {
        Arena(MemoryInfo info, AllocatorOptions options) {
            super(
                    new BfcArena(new Upstream(info), ArenaConfig.from(options)),
                    options.resolve(ArenaOptions.applicable(KEYS, options)));
        }
    }

    /** The device as one of its memories. */
    private final class Upstream implements Allocator, UnreturnedMemory {
        private final MemoryInfo info;

        Upstream(MemoryInfo info) {
            this.info = info;
        }

        @Override
        public long alloc(long byteSize) {
            return device.alloc(byteSize);
        }

        @Override
        public void free(long address) {
            device.free(address);
        }

        @Override
        public long unreturnedBytes() {
            return device.unreturnedBytes();
        }

        @Override
        public long returnAgain() {
            return device.returnAgain();
        }

        @Override
        public MemoryInfo info() {
            return info;
        }

        @Override
        public int spiLevel() {
            return device.spiLevel();
        }
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        device.callToGiveBack();
        requireOpen();
        final Endings.End end = endings.of(allocator, ((StreamArenaAllocator) allocator)::close);
        try {
            switch (references.release(allocator)) {
                case STILL_USED -> device.call();
                case LAST -> {
                    end.run(); // fails where a block is live
                    device.call();
                }
                case UNKNOWN -> {
                    if (!endings.runAgain(allocator)) {
                        throw unknown(allocator);
                    }
                }
            }
        } catch (UnknownAllocatorException e) {
            throw e;
        } catch (Throwable e) {
            unsure.merge(allocator, 1, Integer::sum);
            throw e;
        }
    }

    private UnknownAllocatorException unknown(Allocator allocator) {
        final Integer repeatable = unsure.get(allocator);
        if (repeatable == null || repeatable == 0) {
            model.violate("a reference is returned twice");
        }
        unsure.merge(allocator, -1, Integer::sum);
        return new UnknownAllocatorException("it was released before");
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return info.equals(SimulatedDevice.INFO);
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        device.call();
        requireOpen();
        final ProviderStream stream = new ProviderStream();
        openStreams.add(stream);
        return stream;
    }

    @Override
    public void close() {
        device.call();
        if (references.count() > 0 || !openStreams.isEmpty()) {
            throw new IllegalStateException(
                    references.count() + " allocators and " + openStreams.size() + " streams are out");
        }
        endings.runAgain();
        isClosed = true;
    }

    /** Requires that everything was given back. */
    void requireClosed() {
        Model.require(isClosed, "the provider is open");
        Model.require(references.count() == 0, references.count() + " allocators are not released");
        Model.require(openStreams.isEmpty(), openStreams.size() + " streams are not closed");
    }
}
