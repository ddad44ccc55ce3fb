package allocator.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spark.Tasks.Seen;
import allocator.spi.OutOfMemoryException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** Two executors in processes of their own. One context serves all tests, as a start takes ten seconds. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClusterTest {
    private static final long NATIVE = 64 * Tasks.MEBIBYTE;
    private static final long OF_TASK = 48 * Tasks.MEBIBYTE;
    private static final int ROWS = Integer.getInteger("allocator.spark.rows", 10_000);
    private static final int OVERRUNS = Integer.getInteger("allocator.spark.overruns", 8);

    private static JavaSparkContext spark;
    private static final Events EVENTS = new Events();

    /** What Spark says about tasks and executors. */
    private static final class Events extends SparkListener {
        final Queue<String> failures = new ConcurrentLinkedQueue<>();
        final Queue<String> lost = new ConcurrentLinkedQueue<>();

        @Override
        public void onTaskEnd(SparkListenerTaskEnd event) {
            if (event.reason() instanceof ExceptionFailure failure) {
                failures.add(failure.className());
            }
        }

        @Override
        public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
            lost.add(event.executorId());
        }
    }

    @BeforeAll
    static void start(@TempDir Path folder) throws Exception {
        final Path script = folder.resolve("gpus");
        Files.writeString(script, "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"2\"]}'\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
        final Map<String, String> settings = new HashMap<>(Map.of(
                "spark.plugins", AllocatorPlugin.class.getName(),
                "spark.allocator.nativeMemory", "64m",
                "spark.allocator.taskMemory", "48m",
                "spark.allocator.gpuMemory", "16m",
                "spark.allocator.gpuProvider", "test-gpus",
                "spark.allocator.reportSeconds", "1"));
        settings.put("spark.worker.resource.gpu.amount", "1");
        settings.put("spark.worker.resource.gpu.discoveryScript", script.toString());
        settings.put("spark.executor.resource.gpu.amount", "1");
        settings.put("spark.task.resource.gpu.amount", "1");
        spark = SparkCluster.ofProcesses(2, settings);
        spark.sc().addSparkListener(EVENTS);
        spark.addFile(RowModel.write(folder.resolve("rows.onnx"), 1).toString());
        spark.addFile(RowModel.write(folder.resolve("wide.onnx"), 4096).toString());
        await(() -> AllocatorPlugin.reports().size() == 2);
    }

    @AfterAll
    static void stop() {
        if (spark != null) {
            spark.close();
        }
    }

    private static JavaRDD<Integer> rows(int count, int partitions) {
        return spark.parallelize(IntStream.range(0, count).boxed().toList(), partitions);
    }

    private static Set<Long> processes() {
        return AllocatorPlugin.reports().stream().map(ExecutorReport::processId).collect(Collectors.toSet());
    }

    /** A condition that another thread or process makes true. */
    private interface Condition {
        boolean holds();
    }

    private static void await(Condition condition) throws InterruptedException {
        final Instant end = Instant.now().plus(Duration.ofSeconds(30));
        while (!condition.holds()) {
            assertThat(Instant.now()).as("does not become true").isBefore(end);
            Thread.sleep(20);
        }
    }

    @Test
    @Order(1)
    void limitsAreInForceInEachProcess() {
        final List<Seen> seen = rows(4, 4).mapPartitions(Tasks::fill).collect();
        assertThat(seen)
                .extracting(Seen::process)
                .doesNotContain(ProcessHandle.current().pid());
        assertThat(Set.copyOf(seen.stream().map(Seen::process).toList())).isEqualTo(processes());
        assertThat(seen).allSatisfy(one -> {
            assertThat(one.numbers()).containsEntry("filled", OF_TASK).containsEntry("limit", NATIVE);
            assertThat(one.numbers().get("heldThen")).isBetween(OF_TASK, NATIVE);
        });
    }

    @Test
    @Order(2)
    void whatATaskLeavesIsFreedWithIt() {
        rows(4, 4).mapPartitions(Tasks::fill).collect();
        assertThat(rows(4, 4).mapPartitions(Tasks::look).collect())
                .allSatisfy(one -> assertThat(one.numbers())
                        .containsEntry("inUse", 0L)
                        .containsEntry("peak", OF_TASK)
                        .containsEntry("tasks", 1L)
                        .hasEntrySatisfying(
                                "failures", failures -> assertThat(failures).isPositive()));
    }

    @Test
    @Order(3)
    void inferenceGivesEachRowItsResult() {
        final List<Float> results = rows(ROWS, 4)
                .mapPartitions(Inference.of("rows.onnx", 256, RowModel::inputs, RowModel::outputs))
                .collect();
        assertThat(results).hasSize(ROWS);
        assertThat(IntStream.range(0, ROWS).filter(row -> results.get(row) != RowModel.expected(row)))
                .isEmpty();
        // The weights of one session in each process, and nothing of the runs.
        assertThat(rows(4, 4).mapPartitions(Tasks::look).collect())
                .allSatisfy(one -> assertThat(one.numbers().get("inUse")).isBetween(1L, 64 * 1024L));
    }

    @Test
    @Order(4)
    void anOverrunningTaskIsTriedAgainOnALivingExecutor() throws InterruptedException {
        final Set<Long> before = processes();
        EVENTS.failures.clear();
        assertThat(rows(OVERRUNS, OVERRUNS).mapPartitions(Tasks::overrunOnce).collect())
                .hasSize(OVERRUNS);
        await(() -> EVENTS.failures.size() == OVERRUNS);
        assertThat(EVENTS.failures).containsOnly(OutOfMemoryException.class.getName());
        assertThat(EVENTS.lost).isEmpty();
        assertThat(processes()).isEqualTo(before);
    }

    @Test
    @Order(5)
    void aBatchThatDoesNotFitFailsWithTheFiguresOfItsTask() {
        final int count = 4096; // 64 MiB of results in one run
        assertThatThrownBy(() -> wide(count, count))
                .isInstanceOf(SparkException.class)
                .hasMessageContaining(OutOfMemoryException.class.getName())
                .hasMessageContaining("(TID ")
                .hasMessageContaining("of spark.allocator.taskMemory");
        assertThat(wide(count, 256)).hasSize(count);
        assertThat(EVENTS.lost).isEmpty();
    }

    private static List<Float> wide(int count, int batchSize) {
        return rows(count, 1)
                .mapPartitions(Inference.of("wide.onnx", batchSize, RowModel::inputs, RowModel::outputs))
                .collect();
    }

    @Test
    @Order(6)
    void aTaskHasTheGpuThatSparkAssigned() {
        assertThat(rows(2, 2).mapPartitions(Tasks::useGpu).collect())
                .allSatisfy(one -> assertThat(one.numbers())
                        .containsEntry("ordinal", 2L)
                        .containsEntry("ofMemory", 2L)
                        .containsEntry("gpu.2.limit", 16 * Tasks.MEBIBYTE)
                        .containsEntry("gpu.2.inUse", Tasks.MEBIBYTE)
                        .containsEntry("rejected", 1L));
    }

    @Test
    @Order(7)
    void theDriverHasAReportOfEachExecutor() throws InterruptedException {
        await(() -> AllocatorPlugin.reports().stream().allMatch(report -> report.failures() > 0));
        assertThat(AllocatorPlugin.reports()).hasSize(2).allSatisfy(report -> {
            assertThat(report.limit()).isEqualTo(NATIVE);
            assertThat(report.peak()).isBetween(OF_TASK, NATIVE);
            assertThat(report.held()).isBetween(1L, NATIVE);
            assertThat(report.failure()).isEmpty();
        });
    }

    @Test
    @Order(8)
    void aKilledExecutorIsReplacedByOneWithTheSameLimit() throws InterruptedException {
        final Set<Long> before = processes();
        final List<Seen> seen =
                rows(4, 4).mapPartitions(Tasks::killExecutorOnce).collect();
        assertThat(seen).hasSize(4).allSatisfy(one -> assertThat(one.numbers()).containsEntry("limit", NATIVE));
        await(() -> AllocatorPlugin.reports().size() == 3);
        await(() -> EVENTS.lost.size() == 1);
        final Set<Long> replaced = processes();
        replaced.removeAll(before);
        assertThat(replaced).hasSize(1);
        await(() -> rows(4, 4).mapPartitions(Tasks::fill).collect().stream()
                .filter(one -> replaced.contains(one.process()))
                .anyMatch(one -> one.numbers().get("filled") == OF_TASK));
    }
}
