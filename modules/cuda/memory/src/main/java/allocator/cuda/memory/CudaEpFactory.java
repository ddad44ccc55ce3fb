package allocator.cuda.memory;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.memory.check.StreamChecks;
import allocator.provider.support.References;
import allocator.provider.support.internal.Endings;
import allocator.provider.support.internal.ProviderVersion;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A provider of CUDA memory, but for the choice of allocators, which a subclass makes in {@link #choose}.
 *
 * <p>Nothing native is touched before {@link #discoverDevices}. Each device is an entry of its own, with its own lock,
 * references, streams and context.
 *
 * <p>Lock order: the factory's lifecycle (shared by all calls, exclusive in {@link #close}), then one device's
 * references, then an allocator's own locks. Allocators are destroyed and streams closed outside the references' lock,
 * and no allocator calls back.
 *
 * <p>What the driver fails to take back when an allocator is destroyed or a stream closed, {@link #close} tries again.
 */
public abstract class CudaEpFactory implements EpFactory {
    private final Supplier<CudaAvailability> probe;
    private final Lifecycle lifecycle = new Lifecycle();
    private final Object discoveryLock = new Object();
    private volatile @Nullable Discovered discovered;

    /** What was found, once. */
    private record Discovered(DeviceDiscovery discovery, List<Entry> entries) {}

    /** A device with the allocators that have not been given back. */
    private static final class Entry {
        final CudaDevice device;
        final References<CudaAllocator> references = new References<>();

        Entry(CudaDevice device) {
            this.device = device;
        }
    }

    /**
     * Which allocator serves a request.
     *
     * @param sharedAs what tells this kind of allocator from others of the same device; users with equal keys share one
     *     instance. {@code null} for an allocator of the caller's own
     * @param maker makes the allocator; may throw {@link CudaException} and leaves nothing behind then
     */
    public record Choice(@Nullable Object sharedAs, Supplier<? extends CudaAllocator> maker) {}

    /**
     * Makes the factory.
     *
     * @param probe finds the driver; called when devices are first asked for
     */
    protected CudaEpFactory(Supplier<CudaAvailability> probe) {
        this.probe = probe;
    }

    /**
     * {@return the choice of the allocator for a memory} Only chooses: nothing is made yet.
     *
     * @param device the device
     * @param info one of the device's three infos
     * @param options settings, all valid
     */
    protected abstract Choice choose(CudaDevice device, MemoryInfo info, AllocatorOptions options);

    /**
     * {@return why a device cannot be served; empty if it can}
     *
     * @param info the device
     */
    protected Optional<String> obstacle(CudaDeviceInfo info) {
        return Optional.empty();
    }

    /**
     * {@return the choice of an allocator that users share, unless one asks for an instance of its own (O-06)}
     *
     * @param options settings, all valid
     * @param key what tells this kind of allocator from others of the same device
     * @param maker makes the allocator
     */
    protected static Choice sharedUnlessExclusive(
            AllocatorOptions options, Object key, Supplier<? extends CudaAllocator> maker) {
        return new Choice(options.get(OptionKey.EXCLUSIVE) ? null : key, maker);
    }

    /** An allocator whose uses are checked is another implementation: one that is not checked costs nothing more. */
    private static Choice checkedIfAsked(Choice choice, CudaDevice device, AllocatorOptions options) {
        return options.get(StreamChecks.KEY)
                ? new Choice(choice.sharedAs, () -> CheckedAllocator.of(choice.maker.get(), device, options))
                : choice;
    }

    @Override
    public String vendor() {
        return "java.allocator";
    }

    @Override
    public String version() {
        return ProviderVersion.of(getClass());
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return discovered().discovery;
    }

    private Discovered discovered() {
        Discovered found = discovered;
        if (found == null) {
            synchronized (discoveryLock) {
                found = discovered;
                if (found == null) {
                    found = discover();
                    discovered = found;
                }
            }
        }
        return found;
    }

    private Discovered discover() {
        return switch (probe.get()) {
            case CudaAvailability.Unavailable(String reason) -> {
                CudaLog.debug("{0}: no device: {1}", name(), reason);
                yield new Discovered(DeviceDiscovery.none(reason), List.of());
            }
            case CudaAvailability.Available(CudaDriver driver) -> discover(driver);
        };
    }

    private Discovered discover(CudaDriver driver) {
        final List<Entry> entries = new ArrayList<>();
        final List<EpDevice> devices = new ArrayList<>();
        final List<String> notes = new ArrayList<>();
        for (int ordinal = 0; ordinal < driver.devices().count(); ordinal++) {
            final CudaDevice device = new CudaDevice(driver, driver.devices().info(ordinal));
            final Optional<String> obstacle = obstacle(device.info());
            if (obstacle.isPresent()) {
                notes.add(device + ": " + obstacle.get());
            } else {
                entries.add(new Entry(device));
                devices.add(device.describe());
            }
        }
        if (devices.isEmpty() && notes.isEmpty()) {
            notes.add("the CUDA driver lists no device");
        }
        CudaLog.debug("{0}: the CUDA driver was found, with the devices {1}; {2}", name(), devices, notes);
        return new Discovered(new DeviceDiscovery(devices, notes), List.copyOf(entries));
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        options.requireValid(optionKeys());
        enter();
        try {
            final Entry entry = entry(info);
            final List<CudaDevice> peers = PeerAccess.peers(options, entry.device, this::servedDevices);
            final Choice choice = checkedIfAsked(choose(entry.device, info, options), entry.device, options);
            entry.device.requireContext();
            final Supplier<CudaAllocator> maker = () -> {
                if (!info.equals(entry.device.pinnedMemory())) {
                    PeerAccess.enable(entry.device, peers);
                }
                return choice.maker.get();
            };
            return choice.sharedAs == null
                    ? entry.references.acquireExclusive(maker)
                    : entry.references.acquireShared(choice.sharedAs, maker);
        } catch (CudaException e) {
            throw DriverCalls.allocationFailure(e, entry(info).device, info, 0);
        } finally {
            lifecycle.exit();
        }
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        if (!(allocator instanceof CudaAllocator cudaAllocator) || !lifecycle.tryEnter()) {
            throw unknown(allocator);
        }
        try {
            for (Entry entry : knownEntries()) {
                final Endings.End end = entry.device.endings().of(allocator, cudaAllocator::destroy);
                switch (entry.references.release(allocator)) {
                    case STILL_USED -> {
                        return;
                    }
                    case LAST -> {
                        end.run();
                        return;
                    }
                    case UNKNOWN -> {
                        if (entry.device.endings().runAgain(allocator)) {
                            return;
                        }
                    }
                }
            }
        } finally {
            lifecycle.exit();
        }
        throw unknown(allocator);
    }

    private static UnknownAllocatorException unknown(Allocator allocator) {
        return new UnknownAllocatorException(
                "this factory has no open reference to " + allocator + "; it was released or made elsewhere");
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return knownEntries().stream()
                .anyMatch(entry -> entry.device.defaultMemory().equals(info));
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        return newStream(info, CudaDevice::openStream);
    }

    @Override
    public SyncStream viewSyncStream(MemoryInfo info, long handle) {
        return newStream(info, device -> device.viewStream(handle));
    }

    private SyncStream newStream(MemoryInfo info, Function<CudaDevice, SyncStream> maker) {
        enter();
        try {
            final Entry entry = entry(info);
            if (!entry.device.defaultMemory().equals(info)) {
                throw new UnsupportedMemoryException(name() + " has no streams for " + info);
            }
            return maker.apply(entry.device);
        } finally {
            lifecycle.exit();
        }
    }

    @Override
    public Optional<DataTransfer> dataTransfer() {
        return Optional.of(new CudaTransfer(this::workingDevice, this::isServed));
    }

    private List<CudaDevice> servedDevices() {
        return knownEntries().stream().map(entry -> entry.device).toList();
    }

    private boolean isServed(int ordinal) {
        for (Entry entry : knownEntries()) {
            if (entry.device.ordinal() == ordinal) {
                return true;
            }
        }
        return false;
    }

    private CudaDevice workingDevice(int ordinal) {
        enter();
        try {
            for (Entry entry : knownEntries()) {
                if (entry.device.ordinal() == ordinal) {
                    entry.device.requireContext();
                    return entry.device;
                }
            }
            throw new UnsupportedMemoryException(name() + " does not serve gpu:" + ordinal);
        } finally {
            lifecycle.exit();
        }
    }

    private Entry entry(MemoryInfo info) {
        for (Entry entry : discovered().entries) {
            final CudaDevice device = entry.device;
            if (info.equals(device.defaultMemory())
                    || info.equals(device.pinnedMemory())
                    || info.equals(device.readOnlyMemory())) {
                return entry;
            }
        }
        throw new UnsupportedMemoryException(name() + " does not serve " + info + "; it lists "
                + discovered().discovery.devices() + " "
                + discovered().discovery.notes());
    }

    private List<Entry> knownEntries() {
        final Discovered found = discovered;
        return found == null ? List.of() : found.entries;
    }

    private void enter() {
        if (!lifecycle.tryEnter()) {
            throw new AllocatorClosedException("the factory " + name() + " is closed");
        }
    }

    /**
     * {@inheritDoc} Waits for calls under way. Tries again to give back what the driver did not take back before, then
     * releases the devices' contexts; a second close tries again what failed.
     *
     * @throws allocator.spi.DeviceException if the driver fails; the factory is closed, and the contexts of devices
     *     that did not take everything back stay
     */
    @Override
    public void close() {
        lifecycle.beginClose();
        boolean isClosed = false;
        try {
            requireUnused();
            isClosed = true;
            final DriverCalls.All calls = new DriverCalls.All();
            knownEntries().forEach(entry -> entry.device.release(calls));
            calls.throwIfFailed();
        } finally {
            lifecycle.endClose(isClosed);
        }
    }

    private void requireUnused() {
        int allocators = 0;
        int streams = 0;
        for (Entry entry : knownEntries()) {
            allocators += entry.references.count();
            streams += entry.device.openStreams();
        }
        if (allocators + streams > 0) {
            throw new IllegalStateException(name() + " is in use: " + allocators + " allocators and " + streams
                    + " streams are out; give them back first");
        }
    }
}
