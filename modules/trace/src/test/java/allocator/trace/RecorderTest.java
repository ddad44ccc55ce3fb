package allocator.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.runtime.Environment;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceType;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RecorderTest {
    @TempDir
    private Path folder;

    private Path file;

    private final FakeFactory factory = new FakeFactory("Fake").with(DeviceType.GPU, 0, FakeDevice.INFO);

    @BeforeEach
    void chooseFile() {
        file = folder.resolve("recorded.csv");
    }

    @AfterEach
    void everythingWasFreed() {
        assertThat(factory.created())
                .allSatisfy(allocator -> assertThat(allocator.live()).isEmpty());
    }

    private static Environment cpu() {
        return Environment.builder()
                .allowModules("java.allocator.cpu.reference")
                .build();
    }

    private Environment fake() {
        final Environment environment =
                Environment.builder().modulePathProviders(false).build();
        environment.register(factory);
        return environment;
    }

    private static Session open(Environment environment, Recorder recorder) {
        return environment.openSession(
                SessionOptions.builder().decorator(recorder::wrap).build());
    }

    @Test
    void writesWhatASessionDoes() throws IOException {
        try (Environment environment = fake();
                Recorder recorder = new Recorder(file);
                Session session = open(environment, recorder)) {
            session.run(RunOptions.DEFAULT, run -> {
                final long a = run.allocator().alloc(100);
                final long b = run.allocator().allocOnStream(200, run.stream(3));
                final long none = run.allocator().alloc(0);
                final long c = run.allocator().reserve(300);
                run.allocator().free(a);
                run.allocator().free(none);
                run.allocator().free(b);
                final long d = run.allocator().allocOnStream(400, run.stream(0));
                run.allocator().free(c);
                run.allocator().free(d);
            });
        }
        assertThat(file).hasContent("""
                        op,id,bytes,stream
                        a,0,100,0
                        a,1,200,1
                        r,2,300,0
                        f,0,100,0
                        f,1,200,1
                        a,3,400,2
                        f,2,300,0
                        f,3,400,2
                        """);
    }

    @ParameterizedTest
    @ValueSource(strings = {"resnet", "two_streams"})
    void aRecordedReplayIsTheSameTrace(String name) throws IOException {
        final Trace original = Trace.bundled(name);
        try (Environment environment = cpu();
                Recorder recorder = new Recorder(file);
                Session session = open(environment, recorder)) {
            final ReplayPass pass = new ReplayPass(original);
            session.run(RunOptions.DEFAULT, run -> pass.execute(run, done -> {}));
        }
        final Trace recorded = Trace.read(file);
        assertThat(recorded.allocationCount()).isEqualTo(original.allocationCount());
        assertThat(recorded.liveAtEnd()).as("a replay frees the rest").isZero();
        assertThat(recorded.peakLiveBytes()).isEqualTo(original.peakLiveBytes());
        for (int event = 0; event < original.eventCount(); event++) {
            assertThat(recorded.slot(event)).isEqualTo(original.slot(event));
            assertThat(recorded.byteSize(event)).isEqualTo(original.byteSize(event));
            assertThat(recorded.isAllocation(event)).isEqualTo(original.isAllocation(event));
            assertThat(recorded.stream(event)).isEqualTo(original.stream(event));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"best-fit", "compact"})
    void thePeakHeldOfARecordedSessionIsThatOfItsReplay(String policy) throws IOException {
        final Map<String, String> settings = Map.of("arena.policy", policy, "arena.exclusive", "1");
        final SessionOptions.Builder options = SessionOptions.builder();
        settings.forEach((key, value) -> options.option("ep.cpu-reference." + key, value));
        try (Environment environment = cpu()) {
            final long held;
            try (Recorder recorder = new Recorder(file);
                    Session session = environment.openSession(
                            options.decorator(recorder::wrap).build())) {
                session.run(RunOptions.DEFAULT, run -> {
                    final List<Long> blocks = new ArrayList<>();
                    for (int i = 1; i <= 16; i++) {
                        blocks.add(run.allocator().reserve(i * 300_000L));
                        blocks.add(run.allocator().alloc(i * 50_000L));
                    }
                    blocks.forEach(run.allocator()::free);
                });
                held = session.allocator().stats().peakBytesHeld();
            }
            final ReplayResult replayed = new Replay(
                            environment, environment.devices().getFirst(), AllocatorOptions.of(settings))
                    .once(Trace.read(file), ReplayListener.NONE);
            assertThat(replayed.peakHeldBytes()).isEqualTo(held);
            assertThat(Trace.read(file).reserveCount()).isEqualTo(16);
        }
    }

    @Test
    void aReserveWhoseFreeFailsIsReservedAgain() throws IOException {
        final FakeAllocator target = new FakeAllocator(FakeDevice.INFO);
        try (Recorder recorder = new Recorder(file)) {
            final Allocator allocator = recorder.wrap(target);
            final long weights = allocator.reserve(1000);
            failOnce(target, new IllegalStateException("not now"));
            assertThatThrownBy(() -> allocator.free(weights)).isInstanceOf(IllegalStateException.class);
            allocator.free(weights);
        }
        assertThat(file).hasContent("""
                        op,id,bytes,stream
                        r,0,1000,0
                        f,0,1000,0
                        r,0,1000,0
                        f,0,1000,0
                        """);
    }

    @Test
    void aBlockWhoseFreeFailsIsAllocatedAgainAndItsNextFreeRecorded() throws IOException {
        final FakeAllocator target = new FakeAllocator(FakeDevice.INFO);
        try (Recorder recorder = new Recorder(file)) {
            final Allocator allocator = recorder.wrap(target);
            final long a = allocator.alloc(1000);
            failOnce(target, new IllegalStateException("not now"));
            assertThatThrownBy(() -> allocator.free(a)).isInstanceOf(IllegalStateException.class);
            final long b = allocator.alloc(2000);
            allocator.free(a);
            allocator.free(b);
        }
        assertThat(file).hasContent("""
                        op,id,bytes,stream
                        a,0,1000,0
                        f,0,1000,0
                        a,0,1000,0
                        a,1,2000,0
                        f,0,1000,0
                        f,1,2000,0
                        """);
        assertThat(Trace.read(file).peakLiveBytes()).isEqualTo(3000);
        assertThat(target.live()).isEmpty();
    }

    private static void failOnce(FakeAllocator target, RuntimeException failure) {
        final AtomicBoolean hasFailed = new AtomicBoolean();
        target.before(operation -> {
            if (!hasFailed.getAndSet(true)) {
                throw failure;
            }
        });
    }

    @Test
    void doesNotRecordWhatFails() throws IOException {
        try (Environment environment = fake();
                Recorder recorder = new Recorder(file);
                Session session = environment.openSession(SessionOptions.builder()
                        .option("ep.fake.arena.max_mem", "1000")
                        .decorator(recorder::wrap)
                        .build())) {
            assertThatThrownBy(() -> session.allocator().alloc(2000)).isInstanceOf(OutOfMemoryException.class);
            session.allocator().free(session.allocator().alloc(10));
        }
        assertThat(Trace.read(file).eventCount()).isEqualTo(2);
    }

    @Test
    void hasTheAbilitiesOfTheAllocator() throws IOException {
        try (Recorder recorder = new Recorder(file)) {
            final Allocator recorded = recorder.wrap(new FakeAllocator.Full(FakeDevice.INFO));
            assertThat(recorded.as(StreamAwareAllocator.class)).containsSame((StreamAwareAllocator) recorded);
            assertThat(recorded.as(ShrinkableAllocator.class)).containsSame((ShrinkableAllocator) recorded);
            assertThat(recorded.as(HostAccessibleAllocator.class)).isEmpty();
        }
    }

    @Test
    void reportsWhetherTheDeviceOrdersTheMemory() throws IOException {
        final FakeAllocator.Full allocator = new FakeAllocator.Full(FakeDevice.INFO);
        try (Recorder recorder = new Recorder(file)) {
            final StreamAwareAllocator recorded = (StreamAwareAllocator) recorder.wrap(allocator);
            assertThat(recorded.isOrderedByDevice()).isFalse();
            allocator.orderedByDevice(true);
            assertThat(recorded.isOrderedByDevice()).isTrue();
        }
    }

    @Test
    void fromSeveralThreadsIsATraceThatCanBeReplayed() throws Exception {
        final int threads = 4;
        try (Environment environment = cpu();
                Recorder recorder = new Recorder(file);
                Session session = open(environment, recorder)) {
            final List<Thread> running = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                final long seed = i;
                running.add(Thread.ofPlatform().start(() -> allocateAndFree(session, new Random(seed))));
            }
            for (final Thread thread : running) {
                thread.join();
            }
            assertThat(session.liveBlocks()).isZero();
        }
        final Trace trace = Trace.read(file);
        assertThat(trace.allocationCount()).isEqualTo(threads * 5000);
        assertThat(trace.liveAtEnd()).isZero();
    }

    private static void allocateAndFree(Session session, Random random) {
        final Deque<Long> live = new ArrayDeque<>();
        for (int i = 0; i < 5000; i++) {
            live.add(session.allocator().alloc(1 + random.nextInt(10_000)));
            if (live.size() > 20) {
                session.allocator().free(live.remove());
            }
        }
        live.forEach(session.allocator()::free);
    }

    @Test
    void leavesNoFileBeforeItIsClosed() throws IOException {
        try (Environment environment = fake();
                Recorder recorder = new Recorder(file);
                Session session = open(environment, recorder)) {
            session.allocator().free(session.allocator().alloc(100));
            assertThat(file).doesNotExist();
            try (Stream<Path> files = Files.list(folder)) {
                assertThat(files).singleElement().asString().endsWith(".part");
            }
        }
        assertThat(file).exists();
    }

    /** The caller learns each address and each free reaches the allocator, whatever happens to an event. */
    @Test
    void anEventThatCannotBeRecordedEndsTheRecordingAndFailsNoCall() throws IOException {
        final FakeAllocator.Full allocator = new FakeAllocator.Full(FakeDevice.INFO);
        final Recorder recorder = new Recorder(file);
        final Allocator recorded = recorder.wrap(allocator);
        final long first = recorded.alloc(100);
        final long tooLargeForATrace = recorded.alloc(OptionKey.MAX_SIZE + 1);
        final long last = recorded.alloc(300);
        assertThat(allocator.live()).containsOnlyKeys(first, tooLargeForATrace, last);
        recorded.free(first);
        recorded.free(tooLargeForATrace);
        recorded.free(last);
        assertThat(allocator.live()).isEmpty();
        assertThatThrownBy(recorder::close)
                .isInstanceOf(IOException.class)
                .hasMessageContaining("the recording ended early: ")
                .hasMessageContaining("no event of a trace");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void allocatorsWorkAfterTheEndOfTheRecording() throws IOException {
        try (Environment environment = fake()) {
            final Recorder recorder = new Recorder(file);
            try (Session session = open(environment, recorder)) {
                final long address = session.allocator().alloc(100);
                recorder.close();
                recorder.close();
                session.allocator().free(address);
            }
        }
        assertThat(Trace.read(file).liveAtEnd()).isEqualTo(1);
    }
}
