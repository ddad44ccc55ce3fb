package allocator.runtime.inspection;

import allocator.runtime.discovery.Log;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.AllocatorMXBean;
import allocator.runtime.metrics.ObservedAllocator;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorStats.Counter;
import allocator.spi.MemoryInfo;
import java.lang.management.ManagementFactory;
import java.lang.ref.Cleaner;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.StandardMBean;
import org.jspecify.annotations.Nullable;

/**
 * A bean for each instance of an allocator, in the platform's bean server:
 * {@code java.allocator:type=Allocator,environment=1,number=2,provider="cpu-reference",memory="Cpu",device="cpu:0"}.
 * Names from outside are quoted. The number of the environment is chosen so that no other has it, of another class
 * loader either.
 */
final class ManagementBeans implements AllocatorListener {
    private static final AtomicLong LAST_ENVIRONMENT = new AtomicLong();
    private static final int MOST_ATTEMPTS = 1_000;

    private static final Cleaner CLEANER = Cleaner.create();

    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();

    /** By the number of the allocator: what unregisters its bean, made before that is registered. */
    private final Map<Long, Cleaner.Cleanable> registered = new HashMap<>();

    private long environment = LAST_ENVIRONMENT.incrementAndGet();

    ManagementBeans() {}

    @Override
    public void added(ObservedAllocator allocator) {
        final Name taken = new Name();
        registered.put(allocator.number(), CLEANER.register(allocator, taken));
        try {
            register(allocator, taken);
        } catch (JMException e) {
            Log.failed("registering a bean", allocator.memory(), e);
        }
    }

    private void register(ObservedAllocator allocator, Name taken) throws JMException {
        final Bean shown = new Bean(allocator.provider(), allocator.memory(), new WeakReference<>(allocator));
        final StandardMBean bean = new StandardMBean(shown, AllocatorMXBean.class, true);
        for (int attempt = 1; ; attempt++) {
            final ObjectName name = name(allocator);
            try {
                taken.name = name;
                server.registerMBean(bean, name);
                return;
            } catch (InstanceAlreadyExistsException e) {
                taken.name = null;
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
        final Cleaner.Cleanable bean = registered.remove(allocator.number());
        if (bean != null) {
            bean.clean();
        }
    }

    /** The name of a bean, which is unregistered when this is run. */
    private static final class Name implements Runnable {
        /** {@code null} while no bean may have it. */
        private volatile @Nullable ObjectName name;

        @Override
        public void run() {
            final ObjectName taken = name;
            try {
                final MBeanServer server = ManagementFactory.getPlatformMBeanServer();
                if (taken != null && server.isRegistered(taken)) {
                    server.unregisterMBean(taken);
                }
            } catch (JMException | RuntimeException e) {
                Log.failed("unregistering the bean", String.valueOf(taken), e);
            }
        }
    }

    /**
     * What a bean shows. The bean server holds beans: this one holds its allocator weakly, so that an environment that
     * the program has lost can be collected. Its beans are then unregistered.
     */
    private record Bean(String provider, MemoryInfo memory, WeakReference<ObservedAllocator> observed)
            implements AllocatorMXBean {
        private AllocatorStats stats() {
            final ObservedAllocator allocator = observed.get();
            return allocator == null ? AllocatorStats.NONE : allocator.stats();
        }

        private List<User> users() {
            final ObservedAllocator allocator = observed.get();
            return allocator == null ? List.of() : allocator.users();
        }

        @Override
        public String getProvider() {
            return provider;
        }

        @Override
        public String getMemory() {
            return memory.name();
        }

        @Override
        public String getDevice() {
            return memory.location().toString();
        }

        @Override
        public String[] getUsers() {
            return users().stream().map(User::owner).toArray(String[]::new);
        }

        @Override
        public long getLiveBlocks() {
            return users().stream().mapToLong(User::liveBlocks).sum();
        }

        @Override
        public long getLimit() {
            return stats().limit();
        }

        @Override
        public long getBytesInUse() {
            return stats().bytesInUse();
        }

        @Override
        public long getPeakBytesInUse() {
            return stats().peakBytesInUse();
        }

        @Override
        public long getBytesRequested() {
            return stats().requestedBytesInUse();
        }

        @Override
        public long getBytesHeld() {
            return stats().bytesHeld();
        }

        @Override
        public long getPeakBytesHeld() {
            return stats().peakBytesHeld();
        }

        @Override
        public long getFreeBytes() {
            return stats().freeBytes();
        }

        @Override
        public long getLargestFreeChunk() {
            return stats().largestFreeChunk();
        }

        private long counter(String name) {
            return stats().counter(name).map(Counter::value).orElse(0L);
        }

        @Override
        public long getSharedBytes() {
            return counter("sharedBytes");
        }

        @Override
        public long getAsleepBytes() {
            return counter("asleepBytes");
        }

        @Override
        public long getAllocations() {
            return stats().numAllocs();
        }

        @Override
        public long getFailedAllocations() {
            return stats().numFailedAllocs();
        }
    }
}
