package allocator.onnxruntime;

import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The allocator beneath the sessions of an installation, and its release, which happens once.
 *
 * <p>A release that fails is attempted again by the next call where that can do no harm: not after a
 * {@link DeviceException}, after which the reference counts as returned, and not for an instance that others may use.
 */
final class TargetAllocator {
    private final @Nullable TargetProvider provider;
    private final OrtMemory memory;
    private final boolean isShared;
    private @Nullable Allocator allocator;
    private boolean isReleased;
    private boolean isAttempted;
    private boolean hasLeft;

    private TargetAllocator(@Nullable TargetProvider provider, OrtMemory memory, boolean isShared) {
        this.provider = provider;
        this.memory = memory;
        this.isShared = isShared;
    }

    /**
     * Uses an allocator of CPU memory that the caller releases.
     *
     * @throws IllegalArgumentException if its memory is not suitable
     */
    static TargetAllocator ofCpu(Allocator allocator) {
        if (allocator.info().deviceType() != DeviceType.CPU) {
            throw new IllegalArgumentException(allocator.info() + " is not CPU memory");
        }
        final TargetAllocator target = new TargetAllocator(null, suitable(allocator.info()), false);
        target.allocator = allocator;
        return target;
    }

    /**
     * Creates an allocator of a provider. The allocator is exclusive unless the options say otherwise, so that the
     * options apply.
     *
     * @throws IllegalArgumentException if the memory is not suitable
     * @throws allocator.spi.InvalidOptionException if an option is unknown or its value not accepted
     */
    static TargetAllocator create(TargetProvider provider, MemoryInfo info, Map<String, String> options) {
        final OrtMemory memory = suitable(info);
        final EpFactory factory = provider.factory();
        final AllocatorOptions settings = exclusive(factory, options);
        final boolean isShared = !provider.isFound() && !"1".equals(settings.value(OptionKey.EXCLUSIVE.name()));
        final TargetAllocator target = new TargetAllocator(provider, memory, isShared);
        provider.join();
        try {
            target.allocator = factory.createAllocator(info, settings);
        } finally {
            if (target.allocator == null) {
                provider.leave();
            }
        }
        return target;
    }

    /** Returns the allocator. */
    Allocator allocator() {
        return Objects.requireNonNull(allocator);
    }

    /** Returns the name of its provider, {@code application} if it was given without one. */
    String providerName() {
        return provider == null ? "application" : provider.factory().name();
    }

    /**
     * Returns the copies of its provider.
     *
     * @throws UnsupportedOperationException if there are none
     */
    DataTransfer dataTransfer() {
        return Optional.ofNullable(provider)
                .flatMap(owner -> owner.factory().dataTransfer())
                .orElseThrow(() -> new UnsupportedOperationException("the provider " + providerName()
                        + " makes no copies of " + allocator().info()));
    }

    /**
     * Creates a stream of its device.
     *
     * @throws UnsupportedOperationException if it has none
     */
    SyncStream createStream() {
        if (provider == null || memory.equals(OrtMemory.CPU)) {
            throw new UnsupportedOperationException(allocator().info() + " has no streams");
        }
        return provider.factory().createSyncStream(allocator().info());
    }

    /** Returns the memory of ONNX Runtime's that it serves. */
    OrtMemory memory() {
        return memory;
    }

    /**
     * Returns the allocator to its provider, which is closed if it was found by its name and has no other allocator.
     * Does nothing once that has succeeded.
     *
     * @throws RuntimeException what the provider threw
     */
    synchronized void release() {
        final TargetProvider owner = provider;
        if (owner == null) {
            return;
        }
        try {
            releaseAllocator(owner.factory());
        } finally {
            if (isReleased) {
                if (!hasLeft) {
                    hasLeft = true;
                    owner.leave();
                }
                owner.closeIfUnused();
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
            Failures.suppress(failure, e);
        }
    }

    private static AllocatorOptions exclusive(EpFactory provider, Map<String, String> options) {
        final AllocatorOptions given = AllocatorOptions.of(options);
        final String key = OptionKey.EXCLUSIVE.name();
        final boolean isOffered = provider.optionKeys().stream()
                .anyMatch(offered -> offered.name().equals(key));
        return isOffered && !options.containsKey(key) ? given.with(key, "1", "OnnxRuntimeAllocators") : given;
    }

    private static OrtMemory suitable(MemoryInfo info) {
        final OrtMemory memory = OrtMemory.of(info);
        memory.requireAligned(info);
        return memory;
    }
}
