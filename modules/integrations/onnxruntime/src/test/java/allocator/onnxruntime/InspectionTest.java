package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import allocator.onnxruntime.program.Leaking;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.inspection.RecentEvents;
import allocator.spi.InvalidOptionException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The options of an environment that show what allocators do, at an installation. */
class InspectionTest {
    @TempDir
    private Path folder;

    private static OnnxRuntimeAllocators.Builder builder() {
        return OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment()).provider("cpu-reference");
    }

    private static Set<ObjectName> beans() throws JMException {
        return ManagementFactory.getPlatformMBeanServer()
                .queryNames(new ObjectName("java.allocator:type=Allocator,*"), null);
    }

    @Test
    void aFailedRequestWritesASnapshotWithRecentEvents() throws IOException {
        try (OnnxRuntimeAllocators memory = builder()
                .option(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, folder.toString())
                .option(EnvironmentBuilder.HISTORY, "16")
                .option("arena.max_mem", "256")
                .install()) {
            assertThrows(
                    OrtException.class,
                    () -> memory.openSession(
                                    Models.TINY_BERT,
                                    "tiny_bert",
                                    new OrtSession.SessionOptions(),
                                    SessionSettings.DEFAULT)
                            .close());
            assertFalse(RecentEvents.list().isEmpty());
        }
        assertTrue(RecentEvents.list().isEmpty());
        try (Stream<Path> files = Files.list(folder)) {
            final List<Path> written = files.toList();
            assertFalse(written.isEmpty());
            final String json = Files.readString(written.getFirst());
            assertTrue(json.contains("\"failure\"") && json.contains("cpu-reference"), json);
        }
    }

    @Test
    void aSnapshotOfAFailureHasTheSessionsTheLineOfTheProgramAndTheBlocksOfEach() throws OrtException, IOException {
        try (OnnxRuntimeAllocators memory = builder()
                        .option(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, folder.toString())
                        .option("memory.call_sites", "1")
                        .install();
                AllocatorSession session = Leaking.load(memory, Models.TINY_BERT, "tiny")) {
            session.setBudget(1);
            final Map<String, OnnxTensor> inputs = Models.inputs(1, 8, 1);
            assertThrows(OrtException.class, () -> Leaking.predict(session, inputs));
            inputs.values().forEach(OnnxTensor::close);
        }
        try (Stream<Path> files = Files.list(folder)) {
            final String json = Files.readString(files.findFirst().orElseThrow());
            assertTrue(json.contains("\"sessions\":[{\"name\":\"tiny\",\"closed\":false,\"live_blocks\":"), json);
            assertTrue(json.contains("\"limited_by\":\"the budget of tiny\""), json);
            assertTrue(json.contains("\"stack\":[\"allocator.onnxruntime.program.Leaking.predict("), json);
            assertTrue(json.contains("\"tiny\",\"allocator.onnxruntime.program.Leaking.load("), json);
        }
    }

    @Test
    void itsAllocatorIsABeanUntilTheClose() throws JMException {
        try (OnnxRuntimeAllocators _ =
                builder().option(EnvironmentBuilder.JMX, "1").install()) {
            assertEquals(1, beans().size());
        }
        assertEquals(Set.of(), beans());
    }

    @Test
    void badValuesAreRejectedAsByAnEnvironment() {
        for (final String key :
                List.of(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, EnvironmentBuilder.HISTORY, EnvironmentBuilder.JMX)) {
            assertThrows(InvalidOptionException.class, () -> builder().option(key, ""));
        }
    }
}
