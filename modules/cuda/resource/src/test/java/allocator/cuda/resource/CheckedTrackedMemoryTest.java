package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.provider.support.budget.Budget;
import allocator.resource.AllocatorResource;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedBlockException;
import allocator.resource.tracked.TrackedLaunch;
import allocator.resource.tracked.TrackedMemory;
import allocator.runtime.Environment;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.EpFactory;
import allocator.spi.StreamHazardException;
import allocator.spi.StreamHazardException.Kind;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tracked blocks and launches over the arena of a session with {@code arena.check_streams}. */
class CheckedTrackedMemoryTest {
    private static final long SIZE = 4096;

    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withLaggingStreams().build();
    private final EpFactory provider = driver.provider("cuda-arena");
    private final Environment environment =
            Environment.builder().modulePathProviders(false).build();
    private final Budget budget = Budget.of("tenant", 1 << 20);
    private Session session;
    private CudaEvents events;
    private TrackedMemory memory;
    private SyncStream one;
    private SyncStream two;

    @BeforeEach
    void open() {
        environment.register(provider);
        session = environment.openSession(SessionOptions.builder()
                .provider("cuda-arena")
                .option("ep.cuda-arena.arena.check_streams", "1")
                .build());
        events = new CudaEvents(driver, 0);
        memory = new TrackedMemory(new AllocatorResource(session.allocator()), events, budget);
        one = provider.createSyncStream(session.allocator().info());
        two = provider.createSyncStream(session.allocator().info());
    }

    @AfterEach
    void nothingIsLeft() {
        driver.controls().advanceAll();
        assertThat(memory.reap(Duration.ofSeconds(10))).isTrue();
        memory.close();
        events.close();
        one.close();
        two.close();
        session.close();
        environment.close();
        driver.close(); // throws if there was a hazard or is a leak
    }

    private void launch(TrackedBlock block, Access access, SyncStream stream) {
        try (TrackedLaunch launch = memory.launch(stream).uses(block, access)) {
            launch.prepare();
            launch.commit();
        }
    }

    private void copyWithoutLaunch(TrackedBlock block, SyncStream stream) {
        try (Arena arena = Arena.ofConfined()) {
            session.transfers().copy(arena.allocate(SIZE), session.allocator().range(block.address(), SIZE), stream);
        }
    }

    private static Iterable<String> methods(Throwable thrown) {
        return Arrays.stream(thrown.getStackTrace())
                .map(StackTraceElement::getMethodName)
                .toList();
    }

    @Test
    void launchesAreOrderedAndReportNothing() {
        final TrackedBlock block = memory.allocate(SIZE, one, "scores");
        for (int round = 0; round < 20; round++) {
            launch(block, round % 3 == 0 ? Access.READ : Access.WRITE, round % 2 == 0 ? two : one);
        }
        memory.free(block);
        assertThat(memory.status().pending()).isEqualTo(SIZE);
        driver.controls().advanceAll();
        assertThat(memory.reap()).isEqualTo(SIZE);
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void aReadAfterReadsAndAWriteIsReaped() {
        try (SyncStream three = provider.createSyncStream(session.allocator().info())) {
            final TrackedBlock block = memory.allocate(SIZE, one, "scores");
            launch(block, Access.READ, two);
            launch(block, Access.READ, three);
            launch(block, Access.WRITE, one);
            launch(block, Access.READ, two);
            memory.free(block);
            driver.controls().advanceAll();
            assertThat(memory.reap()).isEqualTo(SIZE);
        }
    }

    @Test
    void aCopyBesideALaunchIsAHazard() {
        final TrackedBlock block = memory.allocate(SIZE, one, "scores");
        launch(block, Access.WRITE, one);
        assertThatExceptionOfType(StreamHazardException.class)
                .isThrownBy(() -> copyWithoutLaunch(block, two))
                .satisfies(hazard -> {
                    assertThat(hazard.kind()).isIn(Kind.USE_BEFORE_READY, Kind.REUSE_IN_FLIGHT);
                    assertThat(methods(hazard)).contains("copyWithoutLaunch");
                });
        launch(block, Access.READ, two);
        assertThatExceptionOfType(StreamHazardException.class)
                .isThrownBy(() -> copyWithoutLaunch(block, one))
                .withMessageContaining("but tracked read on " + two)
                .satisfies(hazard -> assertThat(methods(hazard.getCause())).contains("launch"));
        memory.free(block);
    }

    @Test
    void aLaunchBesideACopyIsAHazardAndNotPrepared() {
        final TrackedBlock block = memory.allocate(SIZE, one, "scores");
        copyWithoutLaunch(block, one);
        assertThatExceptionOfType(StreamHazardException.class)
                .isThrownBy(() -> launch(block, Access.READ, two))
                .withMessageContaining("tracked read on " + two)
                .satisfies(hazard -> {
                    assertThat(hazard.kind()).isEqualTo(Kind.REUSE_IN_FLIGHT);
                    assertThat(methods(hazard)).contains("launch");
                    assertThat(methods(hazard.getCause())).contains("copyWithoutLaunch");
                });
        one.flush();
        memory.free(block); // no use is open
    }

    @Test
    void aStaleBlockHasTheCallSiteOfItsFree() {
        final TrackedBlock block = memory.allocate(SIZE, one, "scores");
        memory.free(block);
        assertThatExceptionOfType(TrackedBlockException.class)
                .isThrownBy(() -> launch(block, Access.READ, one))
                .satisfies(e -> assertThat(e.kind()).isEqualTo(TrackedBlockException.Kind.STALE))
                .withMessageContaining("block 'scores'")
                .withMessageContaining("by the free at ")
                .satisfies(stale -> assertThat(methods(stale.getCause()))
                        .contains("aStaleBlockHasTheCallSiteOfItsFree")
                        .doesNotContain("launch"));
        assertThatExceptionOfType(TrackedBlockException.class)
                .isThrownBy(() -> memory.free(block))
                .satisfies(e -> assertThat(e.kind()).isEqualTo(TrackedBlockException.Kind.STALE))
                .withCauseInstanceOf(StreamHazardException.Site.class);
    }

    @Test
    void aMisorderedUseHasTheCallSiteOfTheOpenOne() {
        final TrackedBlock block = memory.allocate(SIZE, one, "scores");
        prepareOnly(block);
        assertThatExceptionOfType(TrackedBlockException.class)
                .isThrownBy(() -> launch(block, Access.READ, two))
                .satisfies(e -> assertThat(e.kind()).isEqualTo(TrackedBlockException.Kind.MISORDERED))
                .withMessageContaining("by the write at ")
                .satisfies(
                        misordered -> assertThat(methods(misordered.getCause())).contains("prepareOnly"));
        assertThatExceptionOfType(TrackedBlockException.class)
                .isThrownBy(() -> memory.free(block))
                .satisfies(e -> assertThat(e.kind()).isEqualTo(TrackedBlockException.Kind.MISORDERED))
                .satisfies(
                        misordered -> assertThat(methods(misordered.getCause())).contains("prepareOnly"));
        memory.finish(block, Access.WRITE, one);
        memory.free(block);
    }

    private void prepareOnly(TrackedBlock block) {
        memory.prepare(block, Access.WRITE, one);
    }

    @Test
    void withoutTheSettingNoCallSiteIsKept() {
        final TrackedMemory plain = new TrackedMemory(new CudaDeviceResource(driver, 0), events, budget);
        final TrackedBlock block = plain.allocate(SIZE, one, "scores");
        plain.free(block);
        assertThatExceptionOfType(TrackedBlockException.class)
                .isThrownBy(() -> plain.free(block))
                .satisfies(e -> assertThat(e.kind()).isEqualTo(TrackedBlockException.Kind.STALE))
                .withNoCause();
        driver.controls().advanceAll();
        plain.reap();
        plain.close();
        final TrackedMemory checked = TrackedMemory.checked(new CudaDeviceResource(driver, 0), events, budget);
        final TrackedBlock other = checked.allocate(SIZE, one, "scores");
        checked.free(other);
        assertThatExceptionOfType(TrackedBlockException.class)
                .isThrownBy(() -> checked.free(other))
                .satisfies(e -> assertThat(e.kind()).isEqualTo(TrackedBlockException.Kind.STALE))
                .withCauseInstanceOf(StreamHazardException.Site.class);
        driver.controls().advanceAll();
        checked.reap();
        checked.close();
    }
}
