package allocator.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import allocator.runtime.AllocatorReport.Setting;
import allocator.runtime.Environment;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import allocator.testkit.ConstantAllocator;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeFactory;
import allocator.testkit.HeapUse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReplayTest {
    private static final String TWO_STREAMS = """
            op,id,bytes,stream
            a,0,100,0
            a,1,200,5
            f,0,100,0
            a,2,0,5
            a,3,300,0
            """;

    @TempDir
    private Path folder;

    /** What the allocators were called for. */
    private final List<String> calls = new ArrayList<>();

    private final FakeFactory factory = new FakeFactory("Fake")
            .with(DeviceType.GPU, 0, FakeDevice.INFO)
            .keys(List.of(OptionKey.EXCLUSIVE, FakeFactory.MAX_MEM))
            .returned(allocator -> ((FakeAllocator) allocator).log(calls::add));
    private final Environment environment =
            Environment.builder().modulePathProviders(false).build();

    @BeforeEach
    void register() {
        environment.register(factory);
    }

    @AfterEach
    void everythingWasFreed() {
        environment.close();
        assertThat(factory.created())
                .allSatisfy(allocator -> assertThat(allocator.live()).isEmpty());
    }

    private Replay replay(Map<String, String> settings) {
        return new Replay(environment, environment.devices().getFirst(), AllocatorOptions.of(settings, "test"));
    }

    private Trace trace(String text) throws IOException {
        return Trace.read(Files.writeString(folder.resolve("t.csv"), text));
    }

    @Test
    void makesTheCallsOfTheTraceOnStreamsInOrderOfAppearance() throws IOException {
        final ReplayResult result = replay(Map.of()).once(trace(TWO_STREAMS), ReplayListener.NONE);
        assertThat(calls)
                .containsExactly(
                        "alloc 100 on 0", "alloc 200 on 1", "free 100", "alloc 300 on 0", "free 200", "free 300");
        assertThat(result.trace()).isEqualTo("t.csv");
        assertThat(result.provider()).isEqualTo("Fake");
        assertThat(result.device()).isEqualTo("gpu:0");
        assertThat(result.events()).isEqualTo(5);
        assertThat(result.allocations()).isEqualTo(4);
        assertThat(result.frees()).isEqualTo(1);
        assertThat(result.failedAllocations()).isZero();
        assertThat(result.peakRequestedBytes()).isEqualTo(500);
        assertThat(result.peakInUseBytes()).isEqualTo(500);
        assertThat(result.peakHeldBytes()).isEqualTo(800);
        assertThat(result.heldOverRequested()).isEqualTo(1.6);
        assertThat(result.inUseAtEndBytes()).isEqualTo(500);
        assertThat(result.heldAtEndBytes()).isEqualTo(800);
        assertThat(result.liveAtEnd()).isEqualTo(3);
        assertThat(result.bytesHeldAfterShrink()).isZero();
        assertThat(result.nsPerEventFirst()).isPositive();
        assertThat(result.nsPerEventCold()).isNaN();
        assertThat(result.nsPerEventWarm()).isNaN();
    }

    @Test
    void countsFailedAllocationsAndSkipsTheirFrees() throws IOException {
        final ReplayResult result = replay(Map.of("arena.max_mem", "250")).once(trace("""
                                op,id,bytes,stream
                                a,0,100,0
                                a,1,200,0
                                a,2,150,0
                                f,1,200,0
                                f,0,100,0
                                a,3,300,0
                                """), ReplayListener.NONE);
        assertThat(calls)
                .containsExactly(
                        "alloc 100 on 0", "alloc 200 on 0", "alloc 150 on 0", "free 100", "alloc 300 on 0", "free 150");
        assertThat(result.allocations()).isEqualTo(4);
        assertThat(result.failedAllocations()).isEqualTo(2);
        assertThat(result.frees()).isEqualTo(2);
        assertThat(result.peakRequestedBytes()).isEqualTo(250);
        assertThat(result.liveAtEnd()).isEqualTo(1);
    }

    @Test
    void requestsAnExclusiveAllocatorAndReportsTheOriginOfEachSetting() throws IOException {
        final ReplayResult result =
                replay(Map.of("arena.max_mem", "5000")).once(trace(TWO_STREAMS), ReplayListener.NONE);
        assertThat(result.allocator().settings())
                .containsExactly(
                        new Setting("arena.exclusive", "1", "1", "replay", ""),
                        new Setting("arena.max_mem", "5000", "5000", "test", ""));
    }

    @Test
    void rejectsSettingsThatTheProviderDoesNotKnow() {
        assertThatThrownBy(() -> replay(Map.of("arena.max_mme", "1")).once(trace(TWO_STREAMS), ReplayListener.NONE))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageContaining("arena.max_mem");
    }

    @Test
    void freesWhatItAllocatedWhenTheDeviceFails() throws IOException {
        factory.returned(ReplayTest::failingThirdAllocation);
        final Replay replay = replay(Map.of());
        final Trace trace = trace(TWO_STREAMS);
        assertThatThrownBy(() -> replay.once(trace, ReplayListener.NONE)).isInstanceOf(DeviceException.class);
        assertThat(factory.last().calls("allocOnStream")).isEqualTo(2);
        assertThat(factory.last().live()).isEmpty();
    }

    private static Allocator failingThirdAllocation(Allocator allocator) {
        final FakeAllocator fake = (FakeAllocator) allocator;
        return fake.before(operation -> {
            if (operation.equals("allocOnStream") && fake.calls(operation) == 2) {
                throw new DeviceException("the fake device is broken", null);
            }
        });
    }

    @Test
    void replaysATraceWithoutEvents() throws IOException {
        final ReplayResult result = replay(Map.of()).once(trace("op,id,bytes,stream\n"), ReplayListener.NONE);
        assertThat(result.events()).isZero();
        assertThat(result.heldOverRequested()).isNaN();
        assertThat(result.nsPerEventFirst()).isZero();
    }

    @Test
    void measuresColdAndWarmAndReportsProgress() throws IOException {
        factory.returned(allocator -> new ConstantAllocator.StreamAware(allocator.info()));
        final List<Double> progress = new ArrayList<>();
        final ReplayResult result = replay(Map.of()).measure(trace(TWO_STREAMS), (done, step) -> progress.add(done));
        assertThat(result.nsPerEventCold()).isPositive();
        assertThat(result.nsPerEventWarm()).isPositive();
        assertThat(result.liveAtEnd()).isEqualTo(3);
        assertThat(progress).isSorted();
        assertThat(progress.getLast()).isEqualTo(1, within(1e-9));
    }

    @Test
    void measuresSeveralSettingsOneStepAfterTheOther() throws IOException {
        final Set<String> limits = new LinkedHashSet<>();
        factory.returned(allocator -> {
            limits.add(allocator.effectiveOptions().value("arena.max_mem"));
            return new ConstantAllocator.StreamAware(allocator.info());
        });
        final List<Double> progress = new ArrayList<>();
        final List<ReplayResult> results = Replay.measure(
                List.of(replay(Map.of("arena.max_mem", "8000")), replay(Map.of("arena.max_mem", "9000"))),
                trace(TWO_STREAMS),
                (done, step) -> progress.add(done));
        assertThat(limits).containsExactly("8000", "9000");
        assertThat(results).hasSize(2).allSatisfy(result -> {
            assertThat(result.nsPerEventFirst()).isPositive();
            assertThat(result.nsPerEventCold()).isPositive();
            assertThat(result.nsPerEventWarm()).isPositive();
            assertThat(result.pageMapsWarm()).isEmpty();
            assertThat(result.peakPhysicalBytes()).isEmpty();
            assertThat(result.peakMappedBytes()).isEmpty();
        });
        assertThat(progress).isSorted();
        assertThat(progress.getLast()).isEqualTo(1, within(1e-9));
    }

    @Test
    void makesNoJavaObjectPerEvent() throws IOException {
        factory.returned(allocator -> new ConstantAllocator.StreamAware(allocator.info()));
        final int events = 200_000;
        final String text = TWO_STREAMS + "a,9,10,0\nf,9,10,0\n".repeat(events / 2);
        final Trace trace = trace(text);
        final Replay replay = replay(Map.of());
        replay.once(trace, ReplayListener.NONE);
        final long before = HeapUse.ofThisThread();
        replay.once(trace, ReplayListener.NONE);
        assertThat(HeapUse.ofThisThread() - before).isLessThan(events);
    }
}
