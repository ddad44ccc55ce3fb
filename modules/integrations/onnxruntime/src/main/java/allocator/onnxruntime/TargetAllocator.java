package allocator.onnxruntime;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;

/**
 * The allocator beneath the sessions of an installation, and how to release it.
 *
 * @param allocator an allocator of CPU memory, aligned as ONNX Runtime needs it
 * @param release returns the allocator to its provider; to be run once
 */
record TargetAllocator(Allocator allocator, Runnable release) {

    /**
     * Uses an allocator that the caller releases.
     *
     * @throws IllegalArgumentException if its memory is not suitable
     */
    static TargetAllocator of(Allocator allocator) {
        requireSuitable(allocator.info());
        return new TargetAllocator(allocator, () -> {});
    }

    /**
     * Creates an allocator of a provider that the caller closes. The allocator is exclusive unless the options say
     * otherwise, so that the options apply.
     *
     * @throws IllegalArgumentException if the provider has no suitable memory
     * @throws allocator.spi.InvalidOptionException if an option is unknown or its value not accepted
     */
    static TargetAllocator create(EpFactory provider, Map<String, String> options) {
        final MemoryInfo info = cpuMemory(provider);
        requireSuitable(info);
        final Allocator allocator = provider.createAllocator(info, exclusive(provider, options));
        return new TargetAllocator(allocator, () -> provider.releaseAllocator(allocator));
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
            final TargetAllocator target = create(provider, options);
            return new TargetAllocator(target.allocator, () -> {
                try (provider) {
                    target.release.run();
                }
            });
        } catch (RuntimeException e) {
            provider.close();
            throw e;
        }
    }

    /**
     * Releases the allocator after a failure, and returns the failure; if the release fails as well, it suppresses
     * that.
     */
    RuntimeException releasedAfter(RuntimeException failure) {
        try {
            release.run();
        } catch (RuntimeException e) {
            failure.addSuppressed(e);
        }
        return failure;
    }

    private static EpFactory find(String name) {
        final List<String> found = new ArrayList<>();
        for (final ServiceLoader.Provider<EpFactory> candidate :
                ServiceLoader.load(EpFactory.class).stream().toList()) {
            final EpFactory provider = candidate.get();
            if (provider.name().equals(name)) {
                return provider;
            }
            found.add(provider.name());
            provider.close();
        }
        throw new IllegalArgumentException("no provider is called " + name + "; there are " + found);
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
