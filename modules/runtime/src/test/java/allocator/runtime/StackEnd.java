package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.AllocatorClosedException;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.testkit.FakeFactory;
import allocator.testkit.SmallStack;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/**
 * A program that calls at every distance from the end of a thread's stack. A call that overflows has changed nothing or
 * is made up for when the session is closed; blocks are counted right, no lock stays locked, and nothing stays
 * registered.
 */
final class StackEnd {
    private static final int OPERATIONS = 3000;

    /** An allocator whose calls call nothing, so that each fails as a whole or not at all. */
    private static final class Flat implements StreamAwareAllocator {
        private final MemoryInfo info;
        private long live;

        Flat(MemoryInfo info) {
            this.info = info;
        }

        @Override
        public long alloc(long byteSize) {
            live++;
            return 4096;
        }

        @Override
        public long reserve(long byteSize) {
            live++;
            return 4096;
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            live++;
            return 4096;
        }

        @Override
        public void free(long address) {
            live--;
        }

        @Override
        public MemoryInfo info() {
            return info;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.CURRENT;
        }
    }

    /** A provider that counts what its allocators have live. */
    private static final class Counting extends AtomicFactory {
        private final List<Flat> created = new ArrayList<>();

        Counting(FakeFactory factory) {
            super(factory);
            factory.returned(allocator -> {
                final Flat flat = new Flat(allocator.info());
                created.add(flat);
                return flat;
            });
        }

        long live() {
            return created.stream().mapToLong(flat -> flat.live).sum();
        }
    }

    private final FakeFactory fake = FakeFactory.gpu("Cuda");
    private final Counting provider = new Counting(fake);
    private final Environment environment = Environments.empty();
    private final Random random = new Random(3);

    public static void main(String[] args) {
        new StackEnd().blocksAreCountedRight();
        new StackEnd().sessionsLeaveNothingBehind();
    }

    private StackEnd() {
        environment.register(provider);
    }

    private void callDeep(SmallStack stack, Runnable operation) {
        try {
            stack.callNearEnd(15, operation);
        } catch (AllocatorClosedException | IllegalStateException e) {
            // Closed by an earlier operation.
        }
    }

    /** Initializes the classes that the operations use. */
    private void warmUp() {
        try (Session session = environment.openSession(SessionOptions.DEFAULT)) {
            session.allocator().free(session.allocator().alloc(1));
            session.allocator().stats();
            session.run(RunOptions.DEFAULT, run -> run.stream(0));
        }
    }

    private void onSmallStack(Consumer<SmallStack> work) {
        warmUp();
        SmallStack.run(stack -> {
            work.accept(stack);
            assertThat(stack.overflows()).isGreaterThan(50);
            assertThat(stack.completed()).isGreaterThan(50);
        });
        environment.close();
        assertThat(fake.references()).isZero();
        assertThat(fake.openStreams()).isZero();
        assertThat(fake.isClosed()).isTrue();
    }

    private void blocksAreCountedRight() {
        onSmallStack(stack -> {
            final Session session = environment.openSession(SessionOptions.DEFAULT);
            final ManagedAllocator allocator = session.allocator();
            final SyncStream stream = fake.createSyncStream(allocator.info());
            for (int i = 0; i < OPERATIONS; i++) {
                final boolean isFree = provider.live() > 0 && random.nextBoolean();
                final int kind = random.nextInt(3);
                callDeep(stack, () -> {
                    if (isFree) {
                        allocator.free(4096);
                    } else if (kind == 0) {
                        allocator.alloc(8);
                    } else if (kind == 1) {
                        allocator.reserve(8);
                    } else {
                        allocator.allocOnStream(8, stream);
                    }
                });
                assertThat(session.liveBlocks()).as("operation " + i).isEqualTo(provider.live());
            }
            session.close();
            while (provider.live() > 0) {
                final long before = provider.live();
                callDeep(stack, () -> allocator.free(4096));
                if (provider.live() == before) {
                    allocator.free(4096);
                }
            }
            stream.close();
        });
    }

    private void sessionsLeaveNothingBehind() {
        onSmallStack(stack -> {
            final List<Session> sessions = new ArrayList<>();
            for (int i = 0; i < OPERATIONS; i++) {
                final int kind = sessions.isEmpty() ? 0 : random.nextInt(4);
                callDeep(stack, () -> {
                    switch (kind) {
                        case 0 -> sessions.add(environment.openSession(SessionOptions.DEFAULT));
                        case 1 -> sessions.getLast().run(RunOptions.DEFAULT, run -> run.stream(random.nextInt(2)));
                        case 2 -> sessions.getLast().allocator().stats();
                        default -> sessions.getFirst().close();
                    }
                });
                if (kind == 3) {
                    sessions.removeFirst().close();
                }
                while (sessions.size() > 5) {
                    sessions.removeFirst().close();
                }
            }
            sessions.forEach(Session::close);
        });
    }
}
