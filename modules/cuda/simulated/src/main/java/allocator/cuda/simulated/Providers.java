package allocator.cuda.simulated;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.spi.EpFactory;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Makes providers that find a given driver. */
final class Providers {
    private Providers() {}

    /**
     * Makes a provider of its own, one beside this class if the thread's context loader has none: a thread of a pool
     * may have the system's. It finds its devices here, which it does once (F-02), and so those of the driver.
     */
    static EpFactory onDriver(String name, CudaDriver driver) {
        final Set<String> others = new LinkedHashSet<>();
        return find(ServiceLoader.load(EpFactory.class), name, driver, others)
                .or(() -> find(
                        ServiceLoader.load(EpFactory.class, Providers.class.getClassLoader()), name, driver, others))
                .orElseThrow(() -> new IllegalArgumentException("no provider is named " + name + "; found are " + others
                        + ". Its jar must be on the path, and its module resolved if there are modules"));
    }

    private static Optional<EpFactory> find(
            ServiceLoader<EpFactory> loader, String name, CudaDriver driver, Set<String> others) {
        final Iterator<EpFactory> all = loader.iterator();
        while (hasNext(all, others)) {
            final @Nullable EpFactory factory = next(all, others);
            if (factory != null && name.equals(factory.name())) {
                CudaDrivers.callWith(driver, factory::discoverDevices);
                return Optional.of(factory);
            }
            if (factory != null) {
                others.add(factory.name());
                factory.close();
            }
        }
        return Optional.empty();
    }

    private static boolean hasNext(Iterator<EpFactory> all, Set<String> failures) {
        while (true) {
            try {
                return all.hasNext();
            } catch (ServiceConfigurationError e) {
                failures.add(e.toString());
            }
        }
    }

    private static @Nullable EpFactory next(Iterator<EpFactory> all, Set<String> failures) {
        try {
            return all.next();
        } catch (ServiceConfigurationError e) {
            failures.add(e.toString());
            return null;
        }
    }
}
