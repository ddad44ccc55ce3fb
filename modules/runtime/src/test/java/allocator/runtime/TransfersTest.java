package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.AllocatorClosedException;
import allocator.spi.DataTransfer;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.FakeFactory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class TransfersTest {
    private static final SessionOptions DEFAULTS = SessionOptions.builder().build();

    private interface Use {
        void of(Session session);
    }

    /** On the CPU provider as it is found on the module path. */
    private static void onCpu(Use use) {
        try (Environment environment = Environment.builder().build();
                Session session = environment.openSession(DEFAULTS)) {
            use.of(session);
        }
    }

    @Test
    void anArrayComesBackThroughTwoBlocks() {
        onCpu(session -> {
            final ManagedAllocator allocator = session.allocator();
            final float[] written = {1.5f, -2, 3};
            final float[] read = new float[3];
            final long first = allocator.alloc(12);
            final long second = allocator.alloc(12);
            session.transfers().copy(MemorySegment.ofArray(written), allocator.range(first, 12));
            session.transfers().copy(allocator.range(first, 12), allocator.range(second, 12));
            session.transfers().copy(allocator.range(second, 12), MemorySegment.ofArray(read));
            assertThat(read).containsExactly(written);
            allocator.free(first);
            allocator.free(second);
        });
    }

    @Test
    void partsAndNativeBuffersAreCopiedOnAStream() {
        onCpu(session -> session.run(RunOptions.DEFAULT, run -> {
            final ManagedAllocator allocator = run.allocator();
            final SyncStream stream = run.stream(0);
            final long block = allocator.allocOnStream(100, stream);
            final ByteBuffer buffer = ByteBuffer.allocateDirect(4).put(0, (byte) 9);
            run.transfers().copy(MemorySegment.ofBuffer(buffer), allocator.range(block + 50, 4), stream);
            try (Arena arena = Arena.ofConfined()) {
                final MemorySegment read = arena.allocate(1);
                run.transfers().copy(allocator.range(block + 50, 1), read, stream);
                stream.flush();
                assertThat(read.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 9);
            }
            allocator.free(block);
        }));
    }

    @Test
    void anInitializerIsLoadedInOneCall() {
        onCpu(session -> {
            final long address = session.loadInitializer(MemorySegment.ofArray(new long[] {7, 8}));
            final ManagedAllocator allocator = session.initializerAllocator(
                            session.allocator().info().location())
                    .orElseThrow();
            final long[] read = new long[2];
            session.transfers().copy(allocator.range(address, 16), MemorySegment.ofArray(read));
            assertThat(read).containsExactly(7, 8);
            allocator.free(address);
            assertThat(session.loadInitializer(MemorySegment.ofArray(new byte[0])))
                    .isZero();
        });
    }

    /** A provider whose copies do nothing but call a hook. */
    private static final class CopyingFactory extends FakeFactory {
        private volatile Runnable hook = () -> {};

        CopyingFactory() {
            super("copying");
            withGpu(0);
        }

        @Override
        public Optional<DataTransfer> dataTransfer() {
            return Optional.of(new DataTransfer() {
                @Override
                public boolean canCopy(MemoryInfo source, MemoryInfo target) {
                    return true;
                }

                @Override
                public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
                    hook.run();
                }
            });
        }
    }

    private static MemoryRange anyRange(Session session) {
        return session.allocator().range(0x1000, 8);
    }

    @Test
    void aProviderWithoutCopiesIsNamed() {
        try (Environment environment = Environments.empty()) {
            environment.register(FakeFactory.gpu("mute"));
            try (Session session = environment.openSession(DEFAULTS)) {
                assertThatExceptionOfType(UnsupportedMemoryException.class)
                        .isThrownBy(() -> session.transfers().copy(anyRange(session), anyRange(session)));
                assertThatExceptionOfType(UnsupportedMemoryException.class)
                        .isThrownBy(() -> session.loadInitializer(MemorySegment.ofArray(new byte[8])));
                assertThat(session.liveBlocks()).isZero();
            }
        }
    }

    @Test
    void whatAProviderThrowsNamesIt() {
        final CopyingFactory factory = new CopyingFactory();
        try (Environment environment = Environments.empty()) {
            environment.register(factory);
            try (Session session = environment.openSession(DEFAULTS)) {
                factory.hook = () -> {
                    throw new ArithmeticException("planned");
                };
                assertThatExceptionOfType(ProviderException.class)
                        .isThrownBy(() -> session.transfers().copy(anyRange(session), anyRange(session)))
                        .withMessageContaining("copying threw from copy");
            }
        }
    }

    @Test
    void aSessionThatIsClosedDuringACopyEndsAfterIt() {
        final CopyingFactory factory = new CopyingFactory();
        try (Environment environment = Environments.empty()) {
            environment.register(factory);
            final int before = factory.references();
            final Session session = environment.openSession(DEFAULTS);
            final int opened = factory.references();
            final MemoryRange range = anyRange(session);
            factory.hook = () -> {
                session.close();
                assertThat(factory.references()).isEqualTo(opened);
            };
            session.transfers().copy(range, range);
            assertThat(factory.references()).isEqualTo(before);
            assertThatExceptionOfType(AllocatorClosedException.class)
                    .isThrownBy(() -> session.transfers().copy(range, range));
        }
    }

    @Test
    void aRunOfAClosedSessionCopies() {
        final CopyingFactory factory = new CopyingFactory();
        try (Environment environment = Environments.empty()) {
            environment.register(factory);
            final Session session = environment.openSession(DEFAULTS);
            final MemoryRange range = anyRange(session);
            session.run(RunOptions.DEFAULT, run -> {
                session.close();
                assertThat(run.transfers().canCopy(range.memory(), range.memory()))
                        .isTrue();
                run.transfers().copy(range, range, run.stream(0));
            });
            assertThat(factory.openStreams()).isZero();
        }
    }
}
