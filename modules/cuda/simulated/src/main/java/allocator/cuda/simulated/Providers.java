package allocator.cuda.simulated;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.spi.EpFactory;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/** Makes providers that find a given driver. */
final class Providers {
    private Providers() {}

    /**
     * Makes a provider of its own. It finds its devices here, which it does once (F-02), and so those of the driver.
     */
    static EpFactory onDriver(String name, CudaDriver driver) {
        final List<String> others = new ArrayList<>();
        final Iterator<EpFactory> all = ServiceLoader.load(EpFactory.class).iterator();
        while (hasNext(all, others)) {
            final @Nullable EpFactory factory = next(all, others);
            if (factory != null && name.equals(factory.name())) {
                CudaDrivers.callWith(driver, factory::discoverDevices);
                return factory;
            }
            if (factory != null) {
                others.add(factory.name());
                factory.close();
            }
        }
        throw new IllegalArgumentException("no provider is named " + name + "; found are " + others
                + ". Its jar must be on the path, and its module resolved if there are modules");
    }

    private static boolean hasNext(Iterator<EpFactory> all, List<String> failures) {
        while (true) {
            try {
                return all.hasNext();
            } catch (ServiceConfigurationError e) {
                failures.add(e.toString());
            }
        }
    }

    private static @Nullable EpFactory next(Iterator<EpFactory> all, List<String> failures) {
        try {
            return all.next();
        } catch (ServiceConfigurationError e) {
            failures.add(e.toString());
            return null;
        }
    }
}
