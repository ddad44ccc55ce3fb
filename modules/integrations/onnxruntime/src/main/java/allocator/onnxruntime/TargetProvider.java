package allocator.onnxruntime;

import allocator.provider.support.NamedProvider;
import allocator.provider.support.internal.Failures;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.util.ServiceLoader;

/** A provider of allocators for an installation. One that was found by its name is closed after its last allocator. */
final class TargetProvider {
    private final EpFactory factory;
    private final boolean isFound;
    private int users;

    private TargetProvider(EpFactory factory, boolean isFound) {
        this.factory = factory;
        this.isFound = isFound;
    }

    /** Uses a provider that the caller closes. */
    static TargetProvider of(EpFactory factory) {
        return new TargetProvider(factory, false);
    }

    /**
     * Finds a provider on the module path or the class path, by the class loader of the thread or else that of this
     * class: a thread of a pool may have another one than the application. Others that are broken are passed over, and
     * named if there is no such provider.
     *
     * @throws IllegalArgumentException if there is none of that name
     */
    static TargetProvider find(String name) {
        final ClassLoader own = TargetProvider.class.getClassLoader();
        final ClassLoader ofThread = Thread.currentThread().getContextClassLoader();
        try {
            return new TargetProvider(NamedProvider.find(ServiceLoader.load(EpFactory.class, ofThread), name), true);
        } catch (IllegalArgumentException e) {
            try {
                return new TargetProvider(NamedProvider.find(ServiceLoader.load(EpFactory.class, own), name), true);
            } catch (IllegalArgumentException last) {
                throw new IllegalArgumentException(
                        e.getMessage() + " in the class loader of the thread, " + ofThread
                                + "; in that of the library, " + own + ": " + last.getMessage(),
                        last);
            }
        }
    }

    EpFactory factory() {
        return factory;
    }

    /** Returns whether {@link #closeIfUnused} closes the provider in the end. */
    boolean isFound() {
        return isFound;
    }

    /**
     * Returns the provider's CPU memory.
     *
     * @throws IllegalArgumentException if it has none
     */
    MemoryInfo cpuMemory() {
        return NamedProvider.cpuMemory(factory);
    }

    /**
     * Returns the provider's device of an ordinal that is a GPU.
     *
     * @throws IllegalArgumentException if it has none
     */
    EpDevice gpu(int ordinal) {
        final DeviceDiscovery discovery = factory.discoverDevices();
        return discovery.devices().stream()
                .filter(device -> device.defaultMemory()
                        .filter(memory -> memory.deviceType() == DeviceType.GPU && memory.deviceOrdinal() == ordinal)
                        .isPresent())
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "provider " + factory.name() + " has no memory of gpu:" + ordinal + ": " + discovery));
    }

    /** Counts an allocator, until it {@linkplain #leave leaves}. */
    synchronized void join() {
        users++;
    }

    /** Ends the count of an allocator. */
    synchronized void leave() {
        users--;
    }

    /** Closes a provider that was found and has no allocator. Each call tries it, as a close may have failed before. */
    synchronized void closeIfUnused() {
        if (isFound && users == 0) {
            factory.close();
        }
    }

    /** As {@link #closeIfUnused}, after a failure, which suppresses that of the close. */
    void closeIfUnusedAfter(Throwable failure) {
        try {
            closeIfUnused();
        } catch (Throwable e) {
            Failures.suppress(failure, e);
        }
    }
}
