package allocator.onnxruntime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import ai.onnxruntime.OrtException;
import allocator.provider.support.budget.Budget;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.Observation;
import allocator.runtime.metrics.ObservedAllocator;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.SessionState;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceType;
import allocator.spi.OutOfMemoryException;
import allocator.view.Diagnosis;
import allocator.view.SnapshotFile;
import allocator.view.recording.RecordedCalls;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What recordings, meters and snapshots have of sessions that sleep and of weights with one copy. */
class SleepIsShownTest extends SimulatedSessions {
    private static final long WEIGHTS = 6 * MIB;

    @TempDir
    private Path folder;

    private AllocatorSession openEqual() throws OrtException {
        return open(50, WEIGHTS);
    }

    private Path record(Runnable work) throws IOException {
        final Path file = folder.resolve("sleep.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("allocator.SessionSleep").withThreshold(Duration.ZERO);
            recording.start();
            work.run();
            recording.stop();
            recording.dump(file);
        }
        return file;
    }

    @Test
    void aSleepAndAWakeAreEventsOfTheRecorder() throws Exception {
        install();
        final AllocatorSession session = openEqual();
        openEqual();
        final Path file = record(() -> {
            session.sleep();
            session.sleep(); // it sleeps already, which is no event
            run(session);
        });
        final List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        assertThat(events)
                .extracting(
                        event -> event.getString("owner"),
                        event -> event.getBoolean("isSleep"),
                        event -> event.getLong("byteSize"),
                        event -> event.getString("device"),
                        event -> event.getBoolean("isSuccess"))
                .containsExactly(
                        tuple("session 0", true, WEIGHTS, "gpu:0", true),
                        tuple("session 0", false, WEIGHTS, "gpu:0", true));
        assertThat(events).allSatisfy(event -> {
            assertThat(event.getString("memory")).isEqualTo("Cuda");
            assertThat(event.getDuration()).isPositive();
        });
        assertThat(allocator.view.recording.Recording.read(file).calls())
                .extracting(RecordedCalls::operation, RecordedCalls::calls, RecordedCalls::failed, RecordedCalls::bytes)
                .containsExactly(tuple("sleep", 1L, 0L, WEIGHTS), tuple("wake", 1L, 0L, WEIGHTS));
    }

    @Test
    void aWakeWithoutRoomIsAFailedOne() throws Exception {
        sharesWeights("0");
        install();
        final AllocatorSession session = openEqual();
        session.sleep();
        final Budget device = Budget.ofMemory(memory.gpu(0).info());
        device.setLimit(WEIGHTS - 1);
        final Path file;
        try {
            file = record(() -> assertThatThrownBy(session::wake).isInstanceOf(OutOfMemoryException.class));
        } finally {
            device.setLimit(Long.MAX_VALUE);
        }
        assertThat(RecordingFile.readAllEvents(file))
                .extracting(event -> event.getLong("byteSize"), event -> event.getBoolean("isSuccess"))
                .containsExactly(tuple(WEIGHTS, false));
    }

    private static long counter(AllocatorStats stats, String name) {
        return stats.counter(name).orElseThrow().value();
    }

    @Test
    void anObservationHasWhatSleepsAndWhatIsSavedUntilTheClose() throws Exception {
        install();
        final AllocatorSession session = openEqual();
        openEqual();
        openEqual();
        final List<ObservedAllocator> observed = new ArrayList<>();
        final Observation observation = memory.observe(new AllocatorListener() {
            @Override
            public void added(ObservedAllocator allocator) {
                observed.add(allocator);
            }

            @Override
            public void removed(ObservedAllocator allocator) {
                observed.remove(allocator);
            }
        });
        assertThatThrownBy(() -> memory.observe(null)).isInstanceOf(NullPointerException.class);
        assertThat(observed).hasSize(memory.memories().size());
        final ObservedAllocator gpu = observed.getFirst();
        assertThat(gpu.memory()).isEqualTo(memory.gpu(0).info());
        assertThat(counter(gpu.stats(), "sharedBytes")).isEqualTo(2 * WEIGHTS);
        assertThat(counter(gpu.stats(), "asleepBytes")).isZero();
        session.sleep();
        assertThat(counter(gpu.stats(), "sharedBytes")).isEqualTo(WEIGHTS);
        assertThat(counter(gpu.stats(), "asleepBytes"))
                .isEqualTo(WEIGHTS)
                .isEqualTo(session.gpu(0).bytesAsleep());
        close(session);
        assertThat(counter(gpu.stats(), "asleepBytes")).isZero();
        observation.close();
        assertThat(observed).isEmpty();
    }

    @Test
    void aSnapshotHasWhatSleepsAndWhatIsSaved() throws Exception {
        options.put(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, folder.toString());
        install("arena.max_mem", String.valueOf(4 * WEIGHTS));
        final AllocatorSession session = openEqual();
        openEqual();
        openEqual();
        session.sleep();
        final Snapshot taken = memory.snapshot();
        assertThat(taken.failure()).isNull();
        assertThat(taken.sessions()).extracting(SessionState::liveBlocks).containsExactly(1L, 1L, 1L);
        exported(session).alloc(5 * WEIGHTS);
        final Path file;
        try (Stream<Path> files = Files.list(folder)) {
            file = files.findFirst().orElseThrow();
        }
        final Snapshot read = SnapshotFile.read(file);
        for (final Snapshot each : List.of(taken, read)) {
            final AllocatorState gpu = each.allocators().stream()
                    .filter(one -> one.memory().deviceType() == DeviceType.GPU)
                    .findFirst()
                    .orElseThrow();
            assertThat(counter(gpu.stats(), "sharedBytes")).isEqualTo(WEIGHTS);
            assertThat(counter(gpu.stats(), "asleepBytes")).isEqualTo(WEIGHTS);
        }
        assertThat(Diagnosis.of(read).orElseThrow().facts())
                .extracting(Diagnosis.Fact::name, Diagnosis.Fact::bytes)
                .contains(tuple("shared", WEIGHTS));
    }
}
