package allocator.onnxruntime;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import allocator.onnxruntime.block.SessionBudget;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.testkit.FakeFactory;
import allocator.testkit.FakeStream;
import allocator.testkit.Faults;
import allocator.testkit.FaultsInTurn;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Sessions over providers that fail in the calls around a run, a close and a shrink: nothing is lost. */
class SessionFaultsTest {
    private static final long BYTES = 4096;

    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();

    /** What a provider may throw, checked or not. */
    static List<Supplier<Throwable>> throwables() {
        final List<Supplier<Throwable>> all =
                new ArrayList<>(FaultsInTurn.failures().values());
        all.add(() -> new IOException("injected"));
        return all;
    }

    /**
     * Makes what ONNX Runtime reads of an {@code OrtSyncStream} to return its native handle: a pointer to functions,
     * and the handle behind it.
     */
    static long ortStream(long handle) {
        final MemorySegment stream = Arena.global().allocate(64, Long.BYTES);
        stream.set(JAVA_LONG, Long.BYTES, handle);
        return stream.address();
    }

    private static void use(AllocatorSession session, int gpu, long stream) {
        final ExportedAllocator exported = session.gpu(gpu).exported();
        final long block = exported.allocOnStream(BYTES, stream);
        assertNotEquals(0, block, () -> String.valueOf(session.lastFailure()));
        exported.free(block);
    }

    @Nested
    class Runs {
        private final FakeFactory provider = FakeFactory.gpu("fake-gpu").withGpu(1);
        private final long first = ortStream(0x1000);
        private final long second = ortStream(0x2000);

        private OnnxRuntimeAllocators install() {
            return OnnxRuntimeAllocators.on(environment)
                    .gpu(GpuMemory.of(provider))
                    .gpu(GpuMemory.of(provider).withOrdinal(1))
                    .install();
        }

        private FakeStream view(int index) {
            return provider.streams().get(index);
        }

        @ParameterizedTest
        @MethodSource("allocator.onnxruntime.SessionFaultsTest#throwables")
        void aRunReturnsItsResultWhateverTheEndOfItsStreamsThrows(Supplier<Throwable> thrown) throws OrtException {
            try (OnnxRuntimeAllocators memory = install();
                    AllocatorSession session = Sessions.open(memory)) {
                use(session, 0, first);
                use(session, 0, second);
                use(session, 1, first);
                view(0).before(Faults.on("onSessionRunEnd", thrown.get()));
                final AtomicReference<int[]> result = new AtomicReference<>();
                assertThatCode(() -> result.set(Models.run(session::run, 1, 8, 1)))
                        .doesNotThrowAnyException();
                assertEquals(List.of(0, 1, 1), runEnds());
                view(0).before(Faults.NONE);
                assertArrayEquals(result.get(), Models.run(session::run, 1, 8, 1));
                assertEquals(List.of(1, 1, 1), runEnds());
            }
            provider.close();
        }

        private List<Integer> runEnds() {
            return provider.streams().stream().map(FakeStream::runEnds).toList();
        }

        @ParameterizedTest
        @MethodSource("allocator.onnxruntime.SessionFaultsTest#throwables")
        void aCloseThatFailsClosesWhatElseThereIsAndIsTriedAgain(Supplier<Throwable> thrown) throws OrtException {
            final OnnxRuntimeAllocators memory = install();
            final AllocatorSession session = Sessions.open(memory);
            use(session, 0, first);
            use(session, 0, second);
            use(session, 1, first);
            view(0).before(Faults.on("close", thrown.get()));
            assertThatThrownBy(session::close).isNotNull();
            assertEquals(
                    List.of(false, true, true),
                    provider.streams().stream().map(FakeStream::hasEnded).toList());
            assertThatThrownBy(memory::close).isNotNull();
            view(0).before(Faults.NONE);
            memory.close();
            assertTrue(view(0).hasEnded());
            assertEquals(0, provider.references());
            provider.close();
        }
    }

    @Nested
    class Opening {
        @Test
        @SuppressWarnings("NullAway") // on purpose
        void aDecoratorThatReturnsNothingIsRejected() {
            try (OnnxRuntimeAllocators memory = Sessions.install(new HeapAllocator())) {
                final SessionSettings nothing = SessionSettings.DEFAULT.withDecorator(allocator -> null);
                final NullPointerException failure =
                        assertThrows(NullPointerException.class, () -> Sessions.open(memory, nothing));
                assertTrue(String.valueOf(failure.getMessage()).contains("decorator of session"), failure::toString);
            }
        }

        @Test
        void aFailureIsReportedWhateverTheAllocatorSaysOfItself() throws OrtException {
            final HeapAllocator speechless = new HeapAllocator() {
                private final AtomicBoolean isAsked = new AtomicBoolean();

                @Override
                public long alloc(long byteSize) {
                    isAsked.set(true);
                    throw new IllegalStateException("injected");
                }

                @Override
                public MemoryInfo info() {
                    if (isAsked.get()) {
                        throw new IllegalStateException("not even an info");
                    }
                    return super.info();
                }
            };
            try (OnnxRuntimeAllocators memory = Sessions.install(speechless)) {
                final OrtException failure = assertThrows(OrtException.class, () -> Sessions.open(memory));
                assertEquals("injected", String.valueOf(failure.getCause().getMessage()));
            }
        }
    }

    @Nested
    class Ending {
        /** ONNX Runtime allocates for a session that is not known here, while the installation is closed. */
        @Test
        void anAllocationThatIsUnderWayAtTheCloseIsNotHandedOut() throws InterruptedException {
            final AtomicReference<Runnable> meanwhile = new AtomicReference<>(() -> {});
            final HeapAllocator heap = new HeapAllocator() {
                @Override
                public long alloc(long byteSize) {
                    final long address = super.alloc(byteSize);
                    meanwhile.get().run();
                    return address;
                }
            };
            final ExportedAllocator exported = export(heap);
            meanwhile.set(() -> {
                final Thread closing = Thread.ofPlatform().start(exported::close);
                boolean hasEnded = false;
                while (!hasEnded) {
                    hasEnded = closing.getState() == Thread.State.TERMINATED;
                }
            });
            assertEquals(0, exported.alloc(BYTES));
            assertEquals(0, heap.liveBlocks());
            assertEquals(0, exported.budget().used());
        }

        @Test
        void anAllocationIsMadeIfTheCloseIsRejectedMeanwhile() {
            final AtomicReference<Runnable> meanwhile = new AtomicReference<>(() -> {});
            final HeapAllocator heap = new HeapAllocator() {
                @Override
                public long alloc(long byteSize) {
                    final long address = super.alloc(byteSize);
                    meanwhile.get().run();
                    return address;
                }
            };
            final ExportedAllocator exported = export(heap);
            final long before = exported.alloc(BYTES);
            meanwhile.set(() -> assertThrows(IllegalStateException.class, exported::close));
            final long block = exported.alloc(BYTES);
            assertNotEquals(0, block);
            exported.free(block);
            exported.free(before);
            exported.close();
            assertEquals(0, heap.liveBlocks());
        }

        private static ExportedAllocator export(Allocator target) {
            return new ExportedAllocator(
                    target,
                    OrtMemory.CPU,
                    null,
                    new SessionBudget(null, AllocatorStats.UNLIMITED),
                    null,
                    null,
                    new FailureLog("the test", "no model", null));
        }
    }
}
