package exam.tlsf;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Host memory in two kinds: an arena of segregated lists, which its users share, and blocks of their own for weights.
 */
public final class Factory implements EpFactory {
    private static final MemoryLocation HOST = new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT);
    static final MemoryInfo MAIN = new MemoryInfo("Tlsf", HOST, 256, AllocatorType.DEVICE);
    static final MemoryInfo WEIGHTS = new MemoryInfo("TlsfWeights", HOST, 64, AllocatorType.READ_ONLY);

    private final List<Users> open = new ArrayList<>();
    private DeviceDiscovery discovery;
    private Users shared;
    private boolean isClosed;

    /** An allocator and the number of its references. */
    private static final class Users {
        HostAllocator allocator;
        int references = 1;
    }

    @Override
    public String name() {
        return "exam-tlsf";
    }

    @Override
    public String vendor() {
        return "Granary Systems";
    }

    @Override
    public String version() {
        return "1.4";
    }

    @Override
    public int priority() {
        return -10;
    }

    @Override
    public synchronized DeviceDiscovery discoverDevices() {
        if (discovery == null) {
            final String cores = Integer.toString(Runtime.getRuntime().availableProcessors());
            final HardwareDevice cpu =
                    new HardwareDevice(DeviceType.CPU, 0, 0, "Host processor", Map.of("processors", cores));
            discovery = DeviceDiscovery.of(
                    EpDevice.on(cpu).memory(MAIN).memory(WEIGHTS).build());
        }
        return discovery;
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return Settings.KEYS;
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        requireOpen();
        options.requireValid(Settings.KEYS);
        if (!info.equals(MAIN) && !info.equals(WEIGHTS)) {
            throw new UnsupportedMemoryException(name() + " serves " + MAIN + " and " + WEIGHTS + ", not " + info);
        }
        final boolean isShared = info.equals(MAIN) && !options.get(OptionKey.EXCLUSIVE);
        if (isShared && shared != null) {
            shared.references++;
            return shared.allocator;
        }
        final Users users = new Users();
        final Settings settings = Settings.of(options);
        users.allocator = info.isReadOnly() ? new WeightsAllocator(settings) : new TlsfArena(settings);
        open.add(users);
        if (isShared) {
            shared = users;
        }
        return users.allocator;
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        synchronized (this) {
            final Users users = usersOf(allocator);
            if (users.references > 1) {
                users.references--;
                return;
            }
            users.allocator.close();
            open.remove(users);
            if (users == shared) {
                shared = null;
            }
        }
    }

    private Users usersOf(Allocator allocator) {
        for (Users users : open) {
            if (users.allocator == allocator) {
                return users;
            }
        }
        throw new UnknownAllocatorException(name() + " has no reference to release of "
                + allocator.getClass().getSimpleName());
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the factory " + name() + " is closed");
        }
    }

    @Override
    public synchronized void close() {
        if (!open.isEmpty()) {
            throw new IllegalStateException(open.size() + " allocators of " + name() + " are not released");
        }
        isClosed = true;
    }
}
