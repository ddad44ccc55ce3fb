package allocator.arrow;

import allocator.provider.support.NamedAllocator;
import allocator.provider.support.NamedProvider;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import java.util.Map;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/** The allocator beneath an {@link ArrowMemory}: one that was given, or a provider's own instance, released once. */
final class HostMemory {
    /** Arrow aligns buffers of vectors to this many bytes, so that native code may use vector instructions. */
    private static final long BYTE_ALIGNMENT = 64;

    private static final String ORIGIN = "ArrowMemory";

    /** Set where the provider has the key, so that all of its memory goes back when nothing is in use. */
    private static final Map<String, String> DEFAULTS = Map.of("arena.keep_first_region", "0");

    private final Allocator allocator;
    private final @Nullable NamedAllocator opened;

    private HostMemory(Allocator allocator, @Nullable NamedAllocator opened) {
        this.allocator = allocator;
        this.opened = opened;
    }

    /**
     * Uses an allocator that the application releases.
     *
     * @throws IllegalArgumentException if the host cannot use its memory, or it is aligned to less than Arrow needs
     */
    static HostMemory of(Allocator allocator) {
        requireSuitable(
                allocator.info(), allocator.as(HostAccessibleAllocator.class).isPresent());
        return new HostMemory(allocator, null);
    }

    /**
     * Finds a provider, which this instance closes, and creates an instance of its CPU memory.
     *
     * @throws IllegalArgumentException if there is no such provider, or its memory is not suitable
     * @throws allocator.spi.InvalidOptionException if an option is unknown or its value not accepted
     * @throws IllegalStateException if the provider has no native access
     */
    static HostMemory ofProvider(String name, AllocatorOptions options) {
        final ClassLoader loader = loader();
        if (ServiceLoader.load(EpFactory.class, loader).stream().findFirst().isEmpty()) {
            throw new IllegalArgumentException("no provider is called " + name + "; the class loader " + loader
                    + " has none; add java-allocator-cpu-reference, or a provider of this name");
        }
        final NamedAllocator opened = NamedAllocator.open(
                ServiceLoader.load(EpFactory.class, loader), name, HostMemory::suitable, options, DEFAULTS, ORIGIN);
        return new HostMemory(opened.allocator(), opened);
    }

    /** Returns the application's class loader if this class is in one above it, otherwise that of this class. */
    private static ClassLoader loader() {
        final ClassLoader own = HostMemory.class.getClassLoader();
        final ClassLoader context = Thread.currentThread().getContextClassLoader();
        ClassLoader above = context;
        while (above != null && !above.equals(own)) {
            above = above.getParent();
        }
        return above == null ? own : context;
    }

    private static MemoryInfo suitable(EpFactory provider) {
        final MemoryInfo info = NamedProvider.cpuMemory(provider);
        requireSuitable(info, true);
        return info;
    }

    private static void requireSuitable(MemoryInfo info, boolean isHostAccessible) {
        if (info.deviceType() != DeviceType.CPU && !isHostAccessible) {
            throw new IllegalArgumentException(info + " is not memory that the host can read and write");
        }
        if (info.isReadOnly()) {
            throw new IllegalArgumentException(info + " is for memory that is written once; Arrow's buffers are not");
        }
        if (info.byteAlignment() % BYTE_ALIGNMENT != 0) {
            throw new IllegalArgumentException(info + " is aligned to " + info.byteAlignment()
                    + " bytes; Arrow's buffers need a multiple of " + BYTE_ALIGNMENT);
        }
    }

    Allocator allocator() {
        return allocator;
    }

    /** Returns whether the allocator's statistics count the blocks of this memory, and no others. */
    boolean isCounted() {
        return opened != null && allocator.spiLevel() >= SpiLevel.STATISTICS;
    }

    /** Releases a provider's allocator and closes the provider. What failed is tried again by the next call. */
    void close() {
        if (opened != null) {
            opened.close();
        }
    }
}
