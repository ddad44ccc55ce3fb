package allocator.runtime;

import static allocator.testkit.FakeMemory.location;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import allocator.testkit.FakeMemory;
import allocator.testkit.Faults;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

// One class, since every group shares the fixture of a session whose streams are observed.
class RunTest {
    private static final RunOptions UNSYNCHRONIZED = RunOptions.builder()
            .option("disable_synchronize_execution_providers", "1")
            .build();

    private final Environment environment = Environments.empty();
    private final FakeFactory gpu = FakeFactory.gpu("Cuda");
    private final Session session;

    RunTest() {
        environment.register(gpu);
        session = environment.openSession(SessionOptions.builder().name("s").build());
    }

    @AfterEach
    void close() {
        session.close();
        environment.close();
        assertThat(gpu.openStreams()).isZero();
        assertThat(gpu.references()).isZero();
    }

    @Test
    void aRunGivesTheSessionsAllocators() {
        session.run(RunOptions.DEFAULT, run -> {
            assertThat(run.session()).isSameAs(session);
            assertThat(run.allocator()).isSameAs(session.allocator());
            assertThat(run.allocator(location(DeviceType.GPU, 0))).containsSame(session.allocator());
            assertThat(run.allocator(location(DeviceType.CPU, 0))).isEmpty();
        });
    }

    /** It would get a stream that nobody closes. */
    @Test
    void aProviderThatCreatesAStreamCannotAskForIt() {
        session.run(RunOptions.DEFAULT, run -> {
            gpu.before(called -> {
                if (called.equals("createSyncStream")) {
                    gpu.before(Faults.NONE);
                    assertThatThrownBy(() -> run.stream(0))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("is being created");
                }
            });
            assertThat(run.stream(0)).isSameAs(run.stream(0));
        });
    }

    @Test
    void memoryOutlivesItsRun() {
        final long[] block = new long[1];
        session.run(RunOptions.DEFAULT, run -> block[0] = run.allocator().alloc(8));
        assertThat(session.liveBlocks()).isOne();
        session.allocator().free(block[0]);
    }

    @Nested
    class Streams {
        @Test
        void theyAreMadeOnDemandAndStayTheSameInARun() {
            final RunReport report = session.run(RunOptions.DEFAULT, run -> {
                assertThat(run.hasStreams()).isTrue();
                assertThat(gpu.streams()).isEmpty();
                final SyncStream third = run.stream(2);
                assertThat(gpu.streams()).hasSize(1);
                final SyncStream first = run.stream(0);
                assertThat(first).isNotSameAs(third);
                assertThat(run.stream(2)).isSameAs(third);
                assertThat(run.stream(0)).isSameAs(first);
                assertThat(run.stream(session.allocator().info(), 0)).isSameAs(first);
                assertThat(run.stream(1000)).isSameAs(run.stream(1000));
            });
            assertThat(report.streams()).isEqualTo(3);
        }

        @Test
        void theNextRunFindsThemInTheSameOrder() {
            final List<SyncStream> first = new ArrayList<>();
            final List<SyncStream> second = new ArrayList<>();
            session.run(RunOptions.DEFAULT, run -> first.addAll(List.of(run.stream(0), run.stream(1))));
            session.run(RunOptions.DEFAULT, run -> second.addAll(List.of(run.stream(0), run.stream(1))));
            assertThat(second).isEqualTo(first);
        }

        @Test
        void twoRunsAtOneTimeNeverShareOne() {
            session.run(RunOptions.DEFAULT, outer -> {
                final SyncStream stream = outer.stream(0);
                session.run(
                        RunOptions.DEFAULT, inner -> assertThat(inner.stream(0)).isNotSameAs(stream));
            });
            assertThat(gpu.streams()).hasSize(2);
        }

        /** Issue 29351: each run on another thread took memory of its own until there was none. */
        @Test
        void hoppingBetweenThreadsDoesNotMultiplyThem() throws Exception {
            for (int i = 0; i < 20; i++) {
                try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
                    thread.submit(() -> session.run(RunOptions.DEFAULT, run -> {
                                final long block = run.allocator().allocOnStream(8, run.stream(0));
                                run.allocator().free(block);
                            }))
                            .get();
                }
            }
            assertThat(gpu.streams()).hasSize(1);
            assertThat(gpu.streams().getFirst().runEnds()).isEqualTo(20);
        }

        @Test
        void theyAreGoneWhenTheRunIsOver() {
            final Run[] escaped = new Run[1];
            session.run(RunOptions.DEFAULT, run -> {
                escaped[0] = run;
                run.stream(0);
            });
            assertThatThrownBy(() -> escaped[0].stream(0))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("the run of s is over");
        }

        @Test
        void negativeIndexesAndForeignDevicesAreRejected() {
            session.run(RunOptions.DEFAULT, run -> {
                assertThatThrownBy(() -> run.stream(-1)).isInstanceOf(IndexOutOfBoundsException.class);
                assertThatThrownBy(
                                () -> run.stream(FakeMemory.memory("Cuda", DeviceType.GPU, 5, MemoryType.DEFAULT), 0))
                        .isInstanceOf(UnsupportedMemoryException.class);
            });
        }

        @Test
        void aDeviceWithoutStreamsSaysSo() {
            gpu.streamAware(false);
            session.run(RunOptions.DEFAULT, run -> {
                assertThat(run.hasStreams()).isFalse();
                assertThatThrownBy(() -> run.stream(0)).isInstanceOf(UnsupportedMemoryException.class);
            });
        }
    }

    @Nested
    class Ending {
        @Test
        void eachStreamIsSynchronizedOnce() {
            session.run(RunOptions.DEFAULT, run -> {
                run.stream(0);
                run.stream(1);
            });
            assertThat(gpu.streams())
                    .allSatisfy(stream -> assertThat(stream.runEnds()).isEqualTo(1));
        }

        @Test
        void notIfTheOptionSaysSo() {
            final List<SyncStream> seen = new ArrayList<>();
            session.run(UNSYNCHRONIZED, run -> seen.add(run.stream(0)));
            session.run(UNSYNCHRONIZED, run -> seen.add(run.stream(0)));
            assertThat(gpu.streams()).hasSize(1);
            assertThat(gpu.streams().getFirst().runEnds()).isEqualTo(0);
            assertThat(seen.get(1))
                    .as("reuse is ordered behind the queued work")
                    .isSameAs(seen.get(0));
        }

        @Test
        void whatTheWorkThrowsComesOutAndTheRunIsEnded() {
            assertThatThrownBy(() ->
                            session.run(RunOptions.builder().shrink("gpu:0").build(), run -> {
                                run.stream(0);
                                throw new IOException("model file");
                            }))
                    .isInstanceOf(IOException.class)
                    .hasMessage("model file");
            assertThat(gpu.streams().getFirst().runEnds()).isEqualTo(1);
            assertThat(target().calls("shrink"))
                    .as("ONNX Runtime shrinks after a failed run too")
                    .isEqualTo(1);
        }

        @Test
        void failuresOfTheEndAreSuppressedInWhatTheWorkThrows() {
            assertThatThrownBy(() -> session.run(RunOptions.DEFAULT, run -> {
                        run.stream(0);
                        gpu.streams().getFirst().before(Faults.on("on", new DeviceException("error 700", null)));
                        throw new IOException("model file");
                    }))
                    .isInstanceOf(IOException.class)
                    .satisfies(e -> assertThat(e.getSuppressed())
                            .singleElement()
                            .satisfies(end -> assertThat(end).hasMessage("error 700")));
        }

        @Test
        void aStreamThatFailsIsClosedAndTheOthersAreEndedAllTheSame() {
            assertThatThrownBy(() ->
                            session.run(RunOptions.builder().shrink("gpu").build(), run -> {
                                run.stream(0);
                                run.stream(1);
                                run.stream(2);
                                gpu.streams().get(1).before(Faults.on("on", new DeviceException("error 700", null)));
                            }))
                    .isInstanceOf(DeviceException.class)
                    .hasMessage("error 700");
            assertThat(gpu.streams()).extracting(stream -> stream.isClosed()).containsExactly(false, true, false);
            assertThat(gpu.streams()).extracting(stream -> stream.runEnds()).containsExactly(1, 0, 1);
            assertThat(target().calls("shrink")).isEqualTo(1);
            session.run(
                    RunOptions.DEFAULT,
                    run -> assertThat(List.of(run.stream(0), run.stream(1)))
                            .doesNotContain(gpu.streams().get(1)));
        }

        @Test
        void aFailureThatIsNotOfTheContractIsNamed() {
            assertThatThrownBy(() -> session.run(RunOptions.DEFAULT, run -> {
                        run.stream(0);
                        gpu.streams().getFirst().before(Faults.on("on", new IllegalStateException("odd")));
                    }))
                    .isInstanceOf(ProviderException.class)
                    .hasMessageContaining("provider Cuda threw from onSessionRunEnd of stream");
        }
    }

    @Nested
    class Shrinking {
        @Test
        void anArenaOfTheListIsShrunkAfterTheWork() {
            final RunReport report =
                    session.run(RunOptions.builder().shrink("gpu:0").build(), run -> {
                        run.allocator().free(run.allocator().alloc(8));
                        assertThat(target().calls("shrink")).isEqualTo(0);
                    });
            assertThat(target().calls("shrink")).isEqualTo(1);
            assertThat(report.shrunk()).singleElement().satisfies(shrunk -> {
                assertThat(shrunk.memory()).isEqualTo(session.allocator().info());
                assertThat(shrunk.report().bytesReleased()).isEqualTo(100);
                assertThat(shrunk.failure()).isNull();
            });
        }

        @Test
        void itHappensAfterTheStreamsAreSynchronized() {
            target().before(operation -> gpu.log().add(operation));
            session.run(RunOptions.builder().shrink("gpu:0").build(), run -> run.stream(0));
            assertThat(gpu.log().subList(gpu.log().indexOf("run end"), gpu.log().size()))
                    .containsExactly("run end", "shrink");
        }

        @Test
        void aListThatDoesNotFitIsRejectedBeforeTheWork() {
            final boolean[] worked = new boolean[1];
            assertThatThrownBy(() -> session.run(
                            RunOptions.builder().shrink("gpu:0;gpu:1").build(), run -> worked[0] = true))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("Did not find an arena based allocator");
            assertThat(worked[0]).isFalse();
            assertThat(target().calls("shrink")).isEqualTo(0);
        }

        @Test
        void aFailureOfAShrinkThatCannotDescribeItselfIsReportedAsWell() {
            final DeviceException failure = new DeviceException("cuMemFree", null) {
                private static final long serialVersionUID = 1L;

                @Override
                public String getMessage() {
                    throw new IllegalStateException("planted");
                }
            };
            target().before(Faults.on("shrink", failure));
            final RunReport report =
                    session.run(RunOptions.builder().shrink("gpu:0").build(), run -> {});
            assertThat(report.shrunk())
                    .singleElement()
                    .satisfies(shrunk -> assertThat(shrunk.failure()).isSameAs(failure));
        }

        @Test
        void aShrinkThatFailsIsReportedAndLeavesTheWorkAlone() {
            target().before(Faults.on("shrink", new DeviceException("cuMemFree", null)));
            final RunReport report = session.run(
                    RunOptions.builder().shrink("gpu:0").build(),
                    run -> run.allocator().free(run.allocator().alloc(8)));
            assertThat(report.shrunk()).singleElement().satisfies(shrunk -> {
                assertThat(shrunk.report()).isNull();
                assertThat(shrunk.failure()).hasMessage("cuMemFree");
            });
            target().before(operation -> {});
            assertThat(session.shrink(location(DeviceType.GPU, 0)).bytesReleased())
                    .as("works again later")
                    .isEqualTo(100);
        }

        @Test
        void pinnedMemoryIsShrunkByCall() {
            final MemoryLocation pinned = new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.HOST_ACCESSIBLE);
            session.shrink(pinned);
            environment.shrink(pinned);
            assertThat(gpu.created().get(1).info().name()).isEqualTo("CudaPinned");
            assertThat(gpu.created().get(1).calls("shrink")).isEqualTo(2);
        }

        @Test
        void memoryThatIsNotThereCannotBeShrunk() {
            assertThatThrownBy(() -> session.shrink(location(DeviceType.CPU, 0)))
                    .isInstanceOf(UnsupportedMemoryException.class)
                    .hasMessage("s has no allocator for cpu:0");
            assertThatThrownBy(() -> environment.shrink(location(DeviceType.CPU, 0)))
                    .isInstanceOf(UnsupportedMemoryException.class)
                    .hasMessage("environment has no allocator for cpu:0");
        }
    }

    @Nested
    class Closing {
        @Test
        void aClosedSessionRunsNothing() {
            session.close();
            assertThatThrownBy(() ->
                            session.run(RunOptions.builder().shrink("gpu:9").build(), run -> {}))
                    .isInstanceOf(AllocatorClosedException.class)
                    .hasMessage("s is closed");
            assertThatThrownBy(() -> session.shrink(location(DeviceType.GPU, 0)))
                    .isInstanceOf(AllocatorClosedException.class);
        }

        @Test
        void closingFromTheWorkEndsTheSessionAfterTheRun() {
            session.run(RunOptions.DEFAULT, run -> {
                run.stream(0);
                final long block = run.allocator().alloc(8);
                session.close();
                assertThatThrownBy(() -> run.allocator().alloc(8)).isInstanceOf(AllocatorClosedException.class);
                assertThatThrownBy(environment::close)
                        .isInstanceOf(StillInUseException.class)
                        .hasMessageContaining("s is closed, 1 run in progress, has 1 live block in Cuda (gpu:0)");
                run.allocator().free(block);
                assertThat(gpu.streams().getFirst().isClosed()).isFalse();
                assertThat(gpu.references()).isGreaterThan(2);
            });
            assertThat(gpu.streams().getFirst().runEnds()).isEqualTo(1);
            assertThat(gpu.streams().getFirst().isClosed()).isTrue();
            assertThat(gpu.references()).isEqualTo(2);
        }

        @Test
        void closingFromAnotherThreadLetsTheRunFinish() throws Exception {
            final CountDownLatch begun = new CountDownLatch(1);
            final CountDownLatch closed = new CountDownLatch(1);
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                final Future<?> running = threads.submit(() -> session.run(RunOptions.DEFAULT, run -> {
                    final long block = run.allocator().allocOnStream(8, run.stream(0));
                    begun.countDown();
                    closed.await();
                    run.allocator().free(block);
                }));
                begun.await();
                session.close();
                assertThat(gpu.openStreams()).isOne();
                closed.countDown();
                running.get();
            }
            assertThat(gpu.openStreams()).isZero();
        }

        @Test
        void streamsAreClosedBeforeAllocatorsAreReleased() {
            session.run(RunOptions.DEFAULT, run -> run.stream(0));
            gpu.log().clear();
            session.close();
            assertThat(gpu.log().getFirst()).isEqualTo("close stream");
            assertThat(gpu.log()).filteredOn(call -> call.startsWith("release")).hasSize(3);
        }

        @Test
        void aStreamThatCannotBeClosedDoesNotKeepTheRest() {
            session.run(RunOptions.DEFAULT, run -> run.stream(0));
            gpu.streams().getFirst().before(Faults.on("close", new DeviceException("cuStreamDestroy", null)));
            assertThatThrownBy(session::close)
                    .isInstanceOf(DeviceException.class)
                    .hasMessage("cuStreamDestroy");
            assertThat(gpu.references()).isEqualTo(2);
            assertThatThrownBy(session::close).isInstanceOf(DeviceException.class);
            gpu.streams().getFirst().before(Faults.NONE);
            session.close();
            assertThat(gpu.streams().getFirst().hasEnded()).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"session.use_env_allocators", "ep.cuda.arena.max_mem", "ep_factory.Cuda.arena.max_mem"})
    void keysOfOtherPlacesAreRejected(String key) {
        assertThatThrownBy(() -> RunOptions.builder().option(key, "1"))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageContaining("accepted here; it is an option of a");
    }

    @Test
    void anUnknownKeyIsRejectedWithTheClosest() {
        assertThatThrownBy(() -> RunOptions.builder().option("memory.enable_arena_shrinkage", "cpu"))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageContaining("did you mean memory.enable_memory_arena_shrinkage?");
    }

    private FakeAllocator target() {
        return gpu.created().getFirst();
    }

    @Test
    void aRunOfSeveralThreadsKeepsItsStreams() throws Exception {
        session.run(RunOptions.DEFAULT, run -> {
            final List<Future<SyncStream>> seen = new ArrayList<>();
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (int i = 0; i < 100; i++) {
                    final int index = i % 10;
                    seen.add(threads.submit(() -> run.stream(index)));
                }
            }
            for (int i = 0; i < 100; i++) {
                assertThat(seen.get(i).get()).isSameAs(run.stream(i % 10));
            }
        });
        assertThat(gpu.streams()).hasSize(10);
    }
}
