package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import java.util.HashMap;
import java.util.Map;

/**
 * What all users of one device of a driver share in this process: the retained primary context and the list of open
 * streams.
 *
 * <p>The first user retains the context, the last one releases it, and nothing refers to the driver afterwards. A
 * retain that fails leaves no user; after a release that fails, the user is one still and can leave again.
 *
 * <p>Lock order: an instance, then the table. The driver is called under the lock of an instance alone.
 */
final class DeviceContext {
    private static final Map<Key, DeviceContext> OF_DEVICES = new HashMap<>();

    private final Key key;
    private final DeviceStreams streams = new DeviceStreams();

    /** Guarded by the table. */
    private int users;

    /** Guarded by this. */
    private boolean isRetained;

    /** Not with the hash code of a record, which keeps the class loader of its components alive in the JDK. */
    private record Key(CudaDriver driver, int ordinal) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && key.driver.equals(driver) && key.ordinal == ordinal;
        }

        @Override
        public int hashCode() {
            return 31 * driver.hashCode() + ordinal;
        }
    }

    private DeviceContext(Key key) {
        this.key = key;
    }

    /**
     * Adds a user.
     *
     * @throws allocator.cuda.driver.CudaException if the driver does not retain the context
     */
    static DeviceContext join(CudaDriver driver, int ordinal) {
        final DeviceContext context;
        synchronized (OF_DEVICES) {
            context = OF_DEVICES.computeIfAbsent(new Key(driver, ordinal), DeviceContext::new);
            context.users++;
        }
        context.retain();
        return context;
    }

    private synchronized void retain() {
        if (!isRetained) {
            try {
                key.driver.devices().primaryContextRetain(key.ordinal);
                isRetained = true;
            } finally {
                if (!isRetained) {
                    removeUser();
                }
            }
        }
    }

    /**
     * Removes a user.
     *
     * @throws allocator.cuda.driver.CudaException if the driver does not release the context
     */
    synchronized void leave() {
        if (isLastUser()) {
            key.driver.devices().primaryContextRelease(key.ordinal);
            isRetained = false; // a user that joins now waits for this lock, and retains it again
        }
        removeUser();
    }

    private boolean isLastUser() {
        synchronized (OF_DEVICES) {
            return users == 1;
        }
    }

    private void removeUser() {
        synchronized (OF_DEVICES) {
            users--;
            if (users == 0) {
                OF_DEVICES.remove(key);
            }
        }
    }

    /** The open streams of all users. */
    DeviceStreams streams() {
        return streams;
    }
}
