package allocator.provider.support;

import allocator.provider.support.internal.Failures;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceLoader;

/** Finds a provider by its name, for code that needs one memory and no environment. No other provider is opened. */
public final class NamedProvider {
    private static final System.Logger LOG = System.getLogger(NamedProvider.class.getName());

    /** A service loader that fails this often in a row in the same way is assumed not to advance. */
    private static final int MOST_REPETITIONS = 64;

    private NamedProvider() {}

    /**
     * Finds a provider. Others that are broken are passed over, and named if there is no such provider.
     *
     * @param loader the providers to search; a module that makes it {@code uses} {@link EpFactory}
     * @param name the provider's name
     * @return the provider, which the caller closes
     * @throws IllegalArgumentException if there is none of that name
     */
    public static EpFactory find(ServiceLoader<EpFactory> loader, String name) {
        final List<String> found = new ArrayList<>();
        final Iterator<ServiceLoader.Provider<EpFactory>> candidates =
                loader.stream().iterator();
        String lastFailure = "";
        int repetitions = 0;
        while (repetitions < MOST_REPETITIONS) {
            EpFactory provider = null;
            try {
                if (!candidates.hasNext()) {
                    break;
                }
                final ServiceLoader.Provider<EpFactory> candidate = candidates.next();
                repetitions = 0;
                provider = candidate.get();
                final String providerName = provider.name();
                if (name.equals(providerName)) {
                    return provider;
                }
                found.add(providerName == null ? provider.getClass().getName() + ", whose name is null" : providerName);
            } catch (VirtualMachineError e) {
                throw e; // says nothing about the provider
            } catch (Throwable e) {
                final String failure = Failures.describe(e);
                repetitions = failure.equals(lastFailure) ? repetitions + 1 : 0;
                lastFailure = failure;
                found.add("one that is broken (" + failure + ")");
            }
            if (provider != null) {
                closeUnused(provider);
            }
        }
        throw new IllegalArgumentException("no provider is called " + name + "; there are " + found
                + (found.isEmpty()
                        ? " (a jar merged of several needs all lines of META-INF/services/allocator.spi.EpFactory)"
                        : ""));
    }

    private static void closeUnused(EpFactory provider) {
        try {
            provider.close();
        } catch (Throwable e) {
            LOG.log(System.Logger.Level.WARNING, "close of provider {0} failed: {1}", provider.getClass(), e);
        }
    }

    /**
     * {@return a provider's CPU memory: the default memory of its first device that has CPU memory}
     *
     * @param provider the provider, whose devices are discovered
     * @throws IllegalArgumentException if it has none
     */
    public static MemoryInfo cpuMemory(EpFactory provider) {
        final DeviceDiscovery discovery = provider.discoverDevices();
        return discovery.devices().stream()
                .flatMap(device -> device.defaultMemory().stream())
                .filter(memory -> memory.deviceType() == DeviceType.CPU)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "provider " + provider.name() + " has no CPU memory: " + discovery));
    }
}
