package allocator.onnxruntime;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.UnknownAllocatorException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/**
 * The allocator beneath the sessions of an installation, and its release, which happens once.
 *
 * <p>A release that fails is attempted again by the next call where that can do no harm: not after a
 * {@link DeviceException}, after which the reference counts as returned, and not for an instance that others may use.
 */
final class TargetAllocator {
    private static final System.Logger LOG = System.getLogger(TargetAllocator.class.getName());

    /** A service loader that fails this often in a row is assumed not to advance. */
    private static final int MAX_FAILURES_IN_A_ROW = 64;

    private final @Nullable EpFactory provider;
    private final boolean isProviderClosed;
    private @Nullable Allocator allocator;
    private boolean isShared;
    private boolean isReleased;
    private boolean isAttempted;

    private TargetAllocator(@Nullable EpFactory provider, boolean isProviderClosed) {
        this.provider = provider;
        this.isProviderClosed = isProviderClosed;
    }

    /**
     * Uses an allocator that the caller releases.
     *
     * @throws IllegalArgumentException if its memory is not suitable
     */
    static TargetAllocator of(Allocator allocator) {
        requireSuitable(allocator.info());
        final TargetAllocator target = new TargetAllocator(null, false);
        target.allocator = allocator;
        return target;
    }

    /**
     * Creates an allocator of a provider that the caller closes. The allocator is exclusive unless the options say
     * otherwise, so that the options apply.
     *
     * @throws IllegalArgumentException if the provider has no suitable memory
     * @throws allocator.spi.InvalidOptionException if an option is unknown or its value not accepted
     */
    static TargetAllocator create(EpFactory provider, Map<String, String> options) {
        return create(provider, options, new TargetAllocator(provider, false));
    }

    /**
     * Creates an allocator of a provider on the module path or the class path. The release closes the provider too.
     *
     * @throws IllegalArgumentException if there is no such provider, or it has no suitable memory
     * @throws allocator.spi.InvalidOptionException if an option is unknown or its value not accepted
     */
    static TargetAllocator create(String providerName, Map<String, String> options) {
        final EpFactory provider = find(providerName);
        try {
            return create(provider, options, new TargetAllocator(provider, true));
        } catch (Throwable e) {
            closeAfter(e, provider);
            throw e;
        }
    }

    private static TargetAllocator create(EpFactory provider, Map<String, String> options, TargetAllocator target) {
        final MemoryInfo info = cpuMemory(provider);
        requireSuitable(info);
        final AllocatorOptions settings = exclusive(provider, options);
        target.isShared = !target.isProviderClosed && !"1".equals(settings.value(OptionKey.EXCLUSIVE.name()));
        target.allocator = provider.createAllocator(info, settings);
        return target;
    }

    /** Returns the allocator of CPU memory, aligned as ONNX Runtime needs it. */
    Allocator allocator() {
        return Objects.requireNonNull(allocator);
    }

    /**
     * Returns the allocator to its provider, and closes the provider if it was found by its name. Does nothing once
     * that has succeeded.
     *
     * @throws RuntimeException what the provider threw
     */
    synchronized void release() {
        final EpFactory owner = provider;
        if (owner == null) {
            return;
        }
        try {
            releaseAllocator(owner);
        } finally {
            if (isReleased && isProviderClosed) {
                owner.close();
            }
        }
    }

    private void releaseAllocator(EpFactory owner) {
        if (isReleased) {
            return;
        }
        final boolean isRepeated = isAttempted;
        isAttempted = true;
        isReleased = isShared;
        try {
            owner.releaseAllocator(allocator());
            isReleased = true;
        } catch (DeviceException e) {
            isReleased = true;
            throw e;
        } catch (UnknownAllocatorException e) {
            isReleased = true;
            if (!isRepeated) {
                throw e;
            }
        }
    }

    /** Releases the allocator after a failure, which suppresses that of the release. Never throws. */
    void releaseAfter(Throwable failure) {
        try {
            release();
        } catch (Throwable e) {
            suppress(failure, e);
        }
    }

    private static void closeAfter(Throwable failure, EpFactory provider) {
        try {
            provider.close();
        } catch (Throwable e) {
            suppress(failure, e);
        }
    }

    private static void suppress(Throwable failure, Throwable again) {
        try {
            failure.addSuppressed(again);
        } catch (Throwable e) {
            // There is no room for it, or it is the same one.
        }
    }

    /** Finds a provider by its name. Others that are broken are passed over, and named if there is no such provider. */
    private static EpFactory find(String name) {
        final List<String> found = new ArrayList<>();
        final Iterator<ServiceLoader.Provider<EpFactory>> candidates =
                ServiceLoader.load(EpFactory.class).stream().iterator();
        int failuresInARow = 0;
        while (failuresInARow < MAX_FAILURES_IN_A_ROW) {
            EpFactory provider = null;
            try {
                if (!candidates.hasNext()) {
                    break;
                }
                final ServiceLoader.Provider<EpFactory> candidate = candidates.next();
                failuresInARow = 0;
                provider = candidate.get();
                final String providerName = provider.name();
                if (providerName.equals(name)) {
                    return provider;
                }
                found.add(providerName);
            } catch (Throwable e) {
                failuresInARow++;
                found.add("one that is broken (" + e + ")");
            }
            if (provider != null) {
                close(provider);
            }
        }
        throw new IllegalArgumentException("no provider is called " + name + "; there are " + found);
    }

    private static void close(EpFactory provider) {
        try {
            provider.close();
        } catch (Throwable e) {
            LOG.log(System.Logger.Level.WARNING, "close of provider {0} failed: {1}", provider.getClass(), e);
        }
    }

    private static MemoryInfo cpuMemory(EpFactory provider) {
        final var discovery = provider.discoverDevices();
        return discovery.devices().stream()
                .flatMap(device -> device.defaultMemory().stream())
                .filter(memory -> memory.deviceType() == DeviceType.CPU)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "provider " + provider.name() + " has no CPU memory: " + discovery));
    }

    private static AllocatorOptions exclusive(EpFactory provider, Map<String, String> options) {
        final AllocatorOptions given = AllocatorOptions.of(options);
        final String key = OptionKey.EXCLUSIVE.name();
        final boolean isOffered = provider.optionKeys().stream()
                .anyMatch(offered -> offered.name().equals(key));
        return isOffered && !options.containsKey(key) ? given.with(key, "1", "OnnxRuntimeAllocators") : given;
    }

    private static void requireSuitable(MemoryInfo info) {
        if (info.deviceType() != DeviceType.CPU) {
            throw new IllegalArgumentException(info + " is not CPU memory");
        }
        final long alignment = NativeEnvironment.CPU.byteAlignment();
        if (info.byteAlignment() < alignment) {
            throw new IllegalArgumentException(
                    info + " is aligned to " + info.byteAlignment() + " bytes; ONNX Runtime needs " + alignment);
        }
    }
}
