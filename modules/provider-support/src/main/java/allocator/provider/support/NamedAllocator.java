package allocator.provider.support;

import allocator.provider.support.internal.Failures;
import allocator.provider.support.internal.NativeAccess;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * An allocator of a provider that was found by its name, for code that needs one memory and no environment: an instance
 * of its own, and the provider, which is closed after it.
 */
public final class NamedAllocator implements AutoCloseable {
    private final EpFactory provider;
    private final Allocator allocator;
    private boolean isReleased;
    private boolean isClosed;

    private NamedAllocator(EpFactory provider, Allocator allocator) {
        this.provider = provider;
        this.allocator = allocator;
    }

    /**
     * Finds a provider and creates an allocator. No other provider is opened.
     *
     * @param loader the providers to search; a module that makes it {@code uses} {@link EpFactory}
     * @param name the provider's name
     * @param memory returns the memory of the provider that is wanted, or throws if it has none that is suitable
     * @param options options of the allocator; {@link OptionKey#EXCLUSIVE} is set unless they have it
     * @param defaults options by key that are set too, where the provider has the key and {@code options} do not
     * @param origin where the defaults are from, for messages
     * @return the allocator and its provider, which the caller closes
     * @throws IllegalArgumentException if there is no such provider
     * @throws allocator.spi.InvalidOptionException if an option is unknown or its value not accepted
     * @throws IllegalStateException if the JVM does not let the provider call native code; the message has its flag
     */
    public static NamedAllocator open(
            ServiceLoader<EpFactory> loader,
            String name,
            Function<EpFactory, MemoryInfo> memory,
            AllocatorOptions options,
            Map<String, String> defaults,
            String origin) {
        final EpFactory provider = NamedProvider.find(loader, name);
        try {
            final AllocatorOptions all = withDefaults(provider, options, defaults, origin);
            return new NamedAllocator(provider, create(provider, memory.apply(provider), all));
        } catch (Throwable e) {
            final Failures failures = new Failures();
            failures.add(e);
            failures.run(provider::close);
            failures.throwIfAny();
            throw e;
        }
    }

    private static AllocatorOptions withDefaults(
            EpFactory provider, AllocatorOptions options, Map<String, String> defaults, String origin) {
        final Map<String, String> wanted = new TreeMap<>(defaults);
        wanted.put(OptionKey.EXCLUSIVE.name(), OptionKey.EXCLUSIVE.format(true));
        AllocatorOptions result = options;
        for (final OptionKey<?> key : provider.optionKeys()) {
            final String value = wanted.get(key.name());
            if (value != null && !options.keys().contains(key.name())) {
                result = result.with(key.name(), value, origin);
            }
        }
        return result;
    }

    private static Allocator create(EpFactory provider, MemoryInfo info, AllocatorOptions options) {
        try {
            return provider.createAllocator(info, options);
        } catch (IllegalCallerException | ExceptionInInitializerError | NoClassDefFoundError e) {
            throw NativeAccess.explain("memory of " + provider.getClass().getName(), provider.getClass(), e);
        }
    }

    /** {@return the allocator, the same on every call} */
    public Allocator allocator() {
        return allocator;
    }

    /** Releases the allocator and closes the provider. What failed is tried again by the next call. */
    @Override
    public synchronized void close() {
        if (isClosed) {
            return;
        }
        if (!isReleased) {
            try {
                provider.releaseAllocator(allocator);
                isReleased = true;
            } catch (DeviceException e) {
                isReleased = true;
                throw e;
            }
        }
        provider.close();
        isClosed = true;
    }
}
