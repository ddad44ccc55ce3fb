package allocator.conformance.runner.simple;

import allocator.conformance.subject.Expect;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A provider that is correct except for one fault. It has a device with streams and copies, whose memory the host
 * cannot access, and memory that both can access.
 */
public final class SimpleFactory implements EpFactory {
    static final OptionKey<Long> LIMIT = OptionKey.bytes("arena.max_mem", Long.MAX_VALUE, "the most that may be held");
    static final OptionKey<Long> REGION =
            OptionKey.size("arena.initial_chunk_size_bytes", 1 << 20, "the least that is taken from the device");
    static final List<OptionKey<?>> KEYS = List.of(LIMIT, REGION, OptionKey.EXCLUSIVE);

    private static final MemoryInfo DEVICE = new MemoryInfo(
            "Simple", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);
    private static final MemoryInfo PINNED = new MemoryInfo(
            "SimplePinned",
            new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.HOST_ACCESSIBLE),
            64,
            AllocatorType.DEVICE);

    private final SimpleDevice device = new SimpleDevice();
    private final Fault fault;
    private final boolean isOrderedByDevice;
    private final int mostStreams;
    private final Map<MemoryInfo, SimpleAllocator> shared = new HashMap<>();
    private final IdentityHashMap<Allocator, Integer> references = new IdentityHashMap<>();
    private final IdentityHashMap<Allocator, AllocatorOptions> asked = new IdentityHashMap<>();

    /** Allocators of which the device kept memory at the last release. */
    private final Set<SimpleAllocator> unreturned = new HashSet<>();

    private final Set<SimpleStream> streams = new HashSet<>();
    private final Set<Long> handles = new HashSet<>();

    /** Every stream ever made, for the fault that takes a native handle for an identity. */
    private final Set<SyncStream> everMade = new HashSet<>();

    private boolean isClosed;
    private int ghosts;
    private int discoveries;
    private int priorityCalls;
    private int streamsMade;

    /** Creates a factory with a fault. */
    public SimpleFactory(Fault fault) {
        this(fault, false, fault == Fault.CLOSED_STREAMS_TAKE_ROOM ? 24 : Integer.MAX_VALUE);
    }

    /**
     * Creates a factory with a fault.
     *
     * @param isOrderedByDevice whether its device orders memory
     * @param mostStreams how many streams its device can have at one time
     */
    public SimpleFactory(Fault fault, boolean isOrderedByDevice, int mostStreams) {
        this.fault = fault;
        this.isOrderedByDevice = isOrderedByDevice;
        this.mostStreams = mostStreams;
        if (fault == Fault.CONSTRUCTOR_TOUCHES_THE_DEVICE) {
            device.call();
        }
    }

    public SimpleDevice device() {
        return device;
    }

    Fault fault() {
        return fault;
    }

    boolean isOrderedByDevice() {
        return isOrderedByDevice;
    }

    @Override
    public int priority() {
        return fault == Fault.PRIORITY_CHANGES ? priorityCalls++ : 0;
    }

    @Override
    public String name() {
        return "simple";
    }

    @Override
    public String vendor() {
        return "The conformance kit's tests";
    }

    @Override
    public String version() {
        return "1";
    }

    @Override
    public synchronized DeviceDiscovery discoverDevices() {
        discoveries++;
        final EpDevice.Builder builder = EpDevice.on(
                        new HardwareDevice(DeviceType.GPU, 0, 0, "simple device", Map.of()))
                .memory(DEVICE)
                .memory(PINNED);
        final EpDevice second = EpDevice.on(new HardwareDevice(DeviceType.GPU, 0, 0, "second", Map.of()))
                .build();
        return switch (fault) {
            case DEVICES_CHANGE ->
                discoveries % 2 == 0
                        ? DeviceDiscovery.of(second, builder.build())
                        : DeviceDiscovery.of(builder.build(), second);
            case TWO_INFOS_FOR_ONE_LOCATION ->
                DeviceDiscovery.of(
                        builder.build(),
                        EpDevice.on(second.hardware()).memory(DEVICE).build());
            default -> DeviceDiscovery.of(builder.build());
        };
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return KEYS;
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        if (isClosed) {
            throw new AllocatorClosedException("the factory is closed");
        }
        if (!info.equals(DEVICE) && !info.equals(PINNED) && fault != Fault.UNLISTED_MEMORY_ACCEPTED) {
            throw new UnsupportedMemoryException(info + " is not listed");
        }
        if (fault == Fault.FAILED_CREATE_COUNTS) {
            ghosts++;
        }
        final AllocatorOptions checked = check(options);
        if (fault == Fault.FAILED_CREATE_COUNTS) {
            ghosts--;
        }
        final boolean isExclusive = checked.get(OptionKey.EXCLUSIVE) && fault != Fault.EXCLUSIVE_IS_SHARED;
        final SimpleAllocator existing = isExclusive ? null : shared.get(info);
        final SimpleAllocator allocator = existing == null ? make(info, checked) : existing;
        if (existing == null) {
            asked.put(allocator, options);
            if (!isExclusive) {
                shared.put(info, allocator);
            }
        }
        references.merge(allocator, 1, Integer::sum);
        return allocator;
    }

    private SimpleAllocator make(MemoryInfo info, AllocatorOptions options) {
        final boolean isHostAccessible =
                info.memoryType() == MemoryType.HOST_ACCESSIBLE || fault == Fault.DEVICE_MEMORY_AS_SEGMENT;
        return isHostAccessible
                ? new SimpleHostAllocator(this, info, options)
                : new SimpleAllocator(this, info, options);
    }

    private AllocatorOptions check(AllocatorOptions options) {
        if (fault == Fault.UNKNOWN_OPTIONS_SWALLOWED) {
            AllocatorOptions known = AllocatorOptions.EMPTY;
            for (final OptionKey<?> key : KEYS) {
                final String value = options.value(key.name());
                known = value == null ? known : known.with(key.name(), value, options.origin(key.name()));
            }
            known.requireValid(KEYS);
            return known;
        }
        if (fault == Fault.BAD_VALUES_SWALLOWED) {
            AllocatorOptions good = AllocatorOptions.EMPTY;
            for (final String key : options.keys()) {
                final AllocatorOptions next = good.with(key, String.valueOf(options.value(key)), options.origin(key));
                try {
                    next.requireValid(KEYS);
                    good = next;
                } catch (allocator.spi.InvalidOptionException e) {
                    if (KEYS.stream().noneMatch(known -> known.name().equals(key))) {
                        throw e;
                    }
                }
            }
            return good;
        }
        options.requireValid(KEYS);
        return options;
    }

    @Override
    public synchronized void releaseAllocator(Allocator allocator) {
        final Integer count = references.get(allocator);
        if (count == null && allocator instanceof SimpleAllocator kept && unreturned.contains(kept)) {
            kept.close();
            unreturned.remove(kept);
            return;
        }
        if (count == null) {
            if (fault == Fault.RELEASE_OF_ANYTHING_ACCEPTED) {
                return;
            }
            throw new UnknownAllocatorException("there is no reference to " + allocator);
        }
        if (count == 1) {
            references.remove(allocator);
            asked.remove(allocator);
            shared.values().remove(allocator);
            unreturned.add((SimpleAllocator) allocator);
            ((SimpleAllocator) allocator).close();
            unreturned.remove((SimpleAllocator) allocator);
        } else {
            references.put(allocator, count - 1);
            if (fault == Fault.RELEASE_FREES_TOO_EARLY) {
                ((SimpleAllocator) allocator).close();
            }
        }
    }

    synchronized AllocatorOptions asked(Allocator allocator) {
        return asked.getOrDefault(allocator, AllocatorOptions.EMPTY);
    }

    /** Returns the number of allocations of all allocators but one. */
    synchronized long allocations(SimpleAllocator except) {
        return references.keySet().stream()
                .filter(allocator -> !Expect.same(allocator, except))
                .mapToLong(allocator -> ((SimpleAllocator) allocator).allocations())
                .sum();
    }

    /** Returns whether memory is that of the only device. */
    boolean lists(MemoryInfo info) {
        return info.isSameMemoryAs(DEVICE) || info.isSameMemoryAs(PINNED);
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return info.equals(DEVICE);
    }

    @Override
    public synchronized SyncStream createSyncStream(MemoryInfo info) {
        if (isClosed) {
            throw new AllocatorClosedException("the factory is closed");
        }
        if (!isStreamAware(info)) {
            throw new UnsupportedMemoryException("no streams for " + info);
        }
        if ((fault == Fault.CLOSED_STREAMS_TAKE_ROOM ? streamsMade : streams.size()) >= mostStreams) {
            throw new DeviceException("all " + mostStreams + " queues are taken", null);
        }
        streamsMade++;
        long handle = 1;
        while (!handles.add(handle)) {
            handle++;
        }
        final SimpleStream stream = new SimpleStream(info, device, handle, this::unbind, this::closed);
        streams.add(stream);
        if (fault == Fault.HANDLE_IS_IDENTITY) {
            everMade.add(stream);
        }
        return stream;
    }

    private void unbind(SimpleStream stream, long endId) {
        final List<SimpleAllocator> allocators = new ArrayList<>();
        synchronized (this) {
            references.keySet().forEach(allocator -> allocators.add((SimpleAllocator) allocator));
        }
        allocators.forEach(allocator -> allocator.unbind(stream, endId));
    }

    private void closed(SimpleStream stream) {
        if (fault != Fault.BOUND_TO_A_CLOSED_STREAM) {
            stream.end();
        }
        unbind(stream, SimpleChunks.CLOSING);
        synchronized (this) {
            streams.remove(stream);
            handles.remove(stream.handle());
        }
    }

    /** Returns how far a stream has waited for any stream that ever had this handle, as a table by handle would. */
    synchronized long waitedByHandle(SyncStream waiter, SyncStream producer) {
        final Set<SyncStream> namesakes = new HashSet<>(everMade);
        return namesakes.stream()
                .filter(stream -> stream.handle() == producer.handle())
                .mapToLong(waiter::lastWaitedSyncId)
                .max()
                .orElse(0);
    }

    @Override
    public Optional<DataTransfer> dataTransfer() {
        return Optional.of(new SimpleTransfer(device, fault, List.of(DEVICE, PINNED)));
    }

    @Override
    public synchronized void close() {
        if (fault == Fault.CLOSE_FORGETS_REFERENCES) {
            return;
        }
        if (!references.isEmpty() || !streams.isEmpty() || ghosts > 0) {
            throw new IllegalStateException(
                    references.size() + " allocators and " + streams.size() + " streams are still out");
        }
        isClosed = true;
    }
}
