package allocator.runtime.inspection;

import allocator.runtime.discovery.Log;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.AllocatorMXBean;
import allocator.runtime.metrics.ObservedAllocator;
import allocator.runtime.snapshot.Snapshot.User;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.StandardMBean;

/**
 * A bean for each instance of an allocator, in the platform's bean server:
 * {@code java.allocator:type=Allocator,environment=1,number=2,provider="cpu-reference",memory="Cpu",device="cpu:0"}.
 * Names from outside are quoted. The number of the environment is chosen so that no other has it, of another class
 * loader either.
 */
final class ManagementBeans implements AllocatorListener {
    private static final AtomicLong LAST_ENVIRONMENT = new AtomicLong();
    private static final int MOST_ATTEMPTS = 1_000;

    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    private final Map<Long, ObjectName> names = new HashMap<>();
    private long environment = LAST_ENVIRONMENT.incrementAndGet();

    ManagementBeans() {}

    @Override
    public void added(ObservedAllocator allocator) {
        try {
            names.put(allocator.number(), register(allocator));
        } catch (JMException e) {
            Log.failed("registering a bean of", allocator.memory(), e);
        }
    }

    private ObjectName register(ObservedAllocator allocator) throws JMException {
        final StandardMBean bean = new StandardMBean(new Bean(allocator), AllocatorMXBean.class, true);
        for (int attempt = 1; ; attempt++) {
            final ObjectName name = name(allocator);
            try {
                return server.registerMBean(bean, name).getObjectName();
            } catch (InstanceAlreadyExistsException e) {
                if (attempt == MOST_ATTEMPTS) {
                    throw e;
                }
                environment = LAST_ENVIRONMENT.incrementAndGet(); // another class loader has this one
            }
        }
    }

    private ObjectName name(ObservedAllocator allocator) throws JMException {
        return new ObjectName("java.allocator:type=Allocator,environment=" + environment + ",number="
                + allocator.number() + ",provider=" + ObjectName.quote(allocator.provider()) + ",memory="
                + ObjectName.quote(allocator.memory().name()) + ",device="
                + ObjectName.quote(allocator.memory().location().toString()));
    }

    @Override
    public void removed(ObservedAllocator allocator) {
        final ObjectName name = names.remove(allocator.number());
        try {
            if (name != null && server.isRegistered(name)) {
                server.unregisterMBean(name);
            }
        } catch (JMException e) {
            Log.failed("unregistering the bean of", allocator.memory(), e);
        }
    }

    private record Bean(ObservedAllocator allocator) implements AllocatorMXBean {
        @Override
        public String getProvider() {
            return allocator.provider();
        }

        @Override
        public String getMemory() {
            return allocator.memory().name();
        }

        @Override
        public String getDevice() {
            return allocator.memory().location().toString();
        }

        @Override
        public String[] getUsers() {
            return allocator.users().stream().map(User::owner).toArray(String[]::new);
        }

        @Override
        public long getLiveBlocks() {
            return allocator.users().stream().mapToLong(User::liveBlocks).sum();
        }

        @Override
        public long getLimit() {
            return allocator.stats().limit();
        }

        @Override
        public long getBytesInUse() {
            return allocator.stats().bytesInUse();
        }

        @Override
        public long getPeakBytesInUse() {
            return allocator.stats().peakBytesInUse();
        }

        @Override
        public long getBytesRequested() {
            return allocator.stats().requestedBytesInUse();
        }

        @Override
        public long getBytesHeld() {
            return allocator.stats().bytesHeld();
        }

        @Override
        public long getPeakBytesHeld() {
            return allocator.stats().peakBytesHeld();
        }

        @Override
        public long getFreeBytes() {
            return allocator.stats().freeBytes();
        }

        @Override
        public long getLargestFreeChunk() {
            return allocator.stats().largestFreeChunk();
        }

        @Override
        public long getAllocations() {
            return allocator.stats().numAllocs();
        }

        @Override
        public long getFailedAllocations() {
            return allocator.stats().numFailedAllocs();
        }
    }
}
