package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import allocator.testkit.FaultsInTurn;
import allocator.testkit.FaultyCalls;
import allocator.testkit.ForwardingFactory;
import allocator.testkit.Share;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Each call of the resource below fails in turn: nothing is lost, and the statistics stay true. */
class ResourceAllocatorFaultsTest {
    private static final int SEEDS = Share.of(2);

    /** A provider of one allocator over a resource, which a release empties as the end of a device does. */
    private static final class Device implements FaultsInTurn.Device {
        private final FaultyCalls calls = new FaultyCalls();
        private final FakeResource device = new FakeResource(1L << 40).before(calls);
        private final EpFactory factory;

        Device(UnaryOperator<MemoryResource> stack) {
            factory = new Factory(stack.apply(device));
        }

        /** Streams, and allocators over one stack. */
        private final class Factory extends ForwardingFactory {
            private final MemoryResource top;

            Factory(MemoryResource top) {
                super(new HostResourceFactory(bottom -> bottom));
                this.top = top;
            }

            @Override
            public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
                return ResourceAllocator.of(top);
            }

            @Override
            public void releaseAllocator(Allocator allocator) {
                try {
                    ((ResourceAllocator) allocator).close();
                } finally {
                    device.clear();
                }
            }

            @Override
            public boolean isStreamAware(MemoryInfo info) {
                return true;
            }

            @Override
            public SyncStream createSyncStream(MemoryInfo info) {
                return new FakeStream(info).before(calls);
            }
        }

        @Override
        public EpFactory factory() {
            return factory;
        }

        @Override
        public MemoryInfo memory() {
            return device.memory();
        }

        @Override
        public AllocatorOptions options() {
            return AllocatorOptions.EMPTY;
        }

        @Override
        public FaultyCalls calls() {
            return calls;
        }

        @Override
        public OptionalLong bytesOut() {
            return OptionalLong.of(device.bytes());
        }

        @Override
        public List<String> leaks() {
            return List.of();
        }
    }

    private static void run(UnaryOperator<MemoryResource> stack) {
        final FaultsInTurn faults = new FaultsInTurn(() -> new Device(stack));
        long injected = 0;
        for (Supplier<Throwable> failure : FaultsInTurn.failures().values()) {
            for (long seed = 1; seed <= SEEDS; seed++) {
                injected += faults.run(seed, false, failure);
                injected += faults.run(seed, true, failure);
            }
        }
        assertThat(injected).isGreaterThan(250L * SEEDS);
    }

    @Test
    void anAllocatorOverAResourceLosesNothing() {
        run(bottom -> bottom);
    }

    @Test
    void anAllocatorOverEveryDecoratorLosesNothing() {
        run(EveryDecorator::over);
    }

    @Test
    void anAllocatorThatWaitsForStreamsLosesNothing() {
        run(device -> new SynchronizingResource(new Unordered(device)));
    }
}
