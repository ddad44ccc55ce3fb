package allocator.runtime.inspection;

import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.options.RuntimeKeys;
import allocator.spi.InvalidOptionException;

/** Makes {@link ManagementBeans}, a class that cannot be linked where the runtime image has no beans. */
public final class Beans {
    private Beans() {}

    /**
     * Creates a listener without beans yet.
     *
     * @param origin where the option was set, for the message
     * @return the listener
     * @throws InvalidOptionException if the runtime image has no beans
     */
    public static AllocatorListener create(String origin) {
        try {
            return new ManagementBeans();
        } catch (LinkageError e) {
            throw new InvalidOptionException(
                    RuntimeKeys.JMX.name(),
                    "1",
                    "accepted without the module java.management: start java with --add-modules java.management",
                    origin);
        }
    }
}
