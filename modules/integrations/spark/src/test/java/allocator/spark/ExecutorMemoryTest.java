package allocator.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import allocator.provider.support.budget.Budget;
import allocator.spi.AllocatorClosedException;
import allocator.spi.HostAccessibleAllocator;
import java.text.MessageFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import scala.Option;

class ExecutorMemoryTest {
    private static final int KIB = 1024;

    private final ExecutorMemory memory = ExecutorMemory.open(
            "executor", PluginSettings.of(new SparkConf(false).set("spark.allocator.nativeMemory", "4m")), Map.of());

    /** Returns a task with the number 0. */
    private static TaskContextImpl task() {
        return TaskContext$.MODULE$.empty();
    }

    private static void end(TaskContextImpl task) {
        task.markTaskCompleted(Option.empty());
    }

    @Test
    void isOfTheTaskAndNotOfAnotherWithItsNumber() {
        final TaskContextImpl task = task();
        memory.begin(task);
        assertThat(memory.of(task)).isSameAs(memory.of(task));
        assertThatThrownBy(() -> memory.of(task())).isInstanceOf(IllegalStateException.class);
        end(task);
        assertThatThrownBy(() -> memory.of(task)).isInstanceOf(IllegalStateException.class);
        memory.close();
    }

    @Test
    void namesTheSettingOfTheTasksLimit() {
        assertThat(rejection("")).contains("of spark.allocator.nativeMemory cannot grant 8388608 bytes");
        assertThat(rejection("2m")).contains("of spark.allocator.taskMemory cannot grant 8388608 bytes");
        memory.close();
    }

    private static String rejection(String taskMemory) {
        final SparkConf conf = new SparkConf(false).set("spark.allocator.nativeMemory", "4m");
        if (!taskMemory.isEmpty()) {
            conf.set("spark.allocator.taskMemory", taskMemory);
        }
        try (ExecutorMemory limited = ExecutorMemory.open("executor", PluginSettings.of(conf), Map.of())) {
            final TaskContextImpl task = task();
            limited.begin(task);
            final HostAccessibleAllocator allocator = limited.of(task).allocator();
            final String message =
                    catchThrowable(() -> allocator.alloc(8 << 20)).getMessage();
            end(task);
            return message;
        }
    }

    @Test
    void staysUntilTheLastTaskOfAnExecutorThatHasEnded() {
        final TaskContextImpl task = task();
        memory.begin(task);
        final HostAccessibleAllocator ofTask = memory.of(task).allocator();
        final long block = ofTask.alloc(KIB);
        memory.close();
        assertThat(memory.host().held()).isPositive();
        ofTask.segment(block, KIB).fill((byte) 1);
        assertThat(ofTask.alloc(KIB)).isNotZero();
        end(task);
        assertThat(memory.host().held()).isZero();
        assertThatThrownBy(() -> ofTask.alloc(KIB)).isInstanceOf(AllocatorClosedException.class);
    }

    @Nested
    class WhatATaskHasLeft {
        private final Logger logger = Logger.getLogger("allocator.spark");
        private final List<LogRecord> records = new CopyOnWriteArrayList<>();
        private final Handler handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                records.add(record);
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };

        @BeforeEach
        void listen() {
            logger.addHandler(handler);
        }

        @AfterEach
        void stop() {
            logger.removeHandler(handler);
            memory.close();
        }

        private List<String> lines() {
            return records.stream()
                    .map(record -> record.getLevel() + ": "
                            + MessageFormat.format(record.getMessage(), record.getParameters()))
                    .toList();
        }

        @Test
        void isOneLineWithTheBytesCharged() {
            final TaskContextImpl task = task();
            memory.begin(task);
            final Budget budget = memory.of(task).budget();
            assertThat(budget.tryCharge(3000)).isTrue();
            end(task);
            assertThat(lines())
                    .singleElement()
                    .asString()
                    .startsWith("WARNING: task 0.0 of stage 0 (TID 0) ended with 3000 bytes charged to its budget;"
                            + " they stay charged to the executor");
            assertThat(memory.host().status().charge()).isEqualTo(3000);
            budget.release(3000);
            assertThat(memory.host().status().charge()).isZero();
        }

        @Test
        void isOneLineWithBlocksAndCharges() {
            final TaskContextImpl task = task();
            memory.begin(task);
            final Budget budget = memory.of(task).budget();
            final long ignored = memory.of(task).allocator().alloc(KIB);
            assertThat(budget.tryCharge(17)).isTrue();
            end(task);
            assertThat(lines())
                    .singleElement()
                    .asString()
                    .contains("ended with 1024 bytes of native memory in use; they are freed;"
                            + " and with 17 bytes charged to its budget");
            budget.release(17);
        }

        /** Blocks of a failed task are freed, but nothing releases its charges. */
        @Test
        void ofAFailedTaskIsAWarningIfItIsCharged() {
            final TaskContextImpl task = task();
            memory.begin(task);
            final Budget budget = memory.of(task).budget();
            assertThat(budget.tryCharge(17)).isTrue();
            task.markTaskFailed(new IllegalStateException("on purpose"));
            end(task);
            assertThat(lines())
                    .singleElement()
                    .asString()
                    .startsWith("WARNING: ")
                    .contains("17 bytes charged");
            budget.release(17);
        }

        @Test
        void isNoLineIfNothingIsLeft() {
            final TaskContextImpl task = task();
            memory.begin(task);
            final TaskMemory ofTask = memory.of(task);
            ofTask.allocator().free(ofTask.allocator().alloc(KIB));
            assertThat(ofTask.budget().tryCharge(17)).isTrue();
            ofTask.budget().release(17);
            end(task);
            assertThat(lines()).isEmpty();
        }
    }

    @Test
    void ofAnEndedExecutorIsForNoFurtherTask() {
        memory.close();
        final TaskContextImpl task = task();
        memory.begin(task);
        assertThat(memory.tasks()).isZero();
        assertThatThrownBy(() -> memory.of(task)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void thatIsInUseBeyondTasksStays() {
        final ChargedAllocator.OfHost tensors =
                new ChargedAllocator.OfHost(memory.host(), () -> memory.host().budget());
        final long block = tensors.alloc(KIB);
        assertThatThrownBy(memory::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("bytes of executor of spark.allocator.nativeMemory are in use");
        tensors.segment(block, KIB).fill((byte) 1);
        assertThat(memory.host().held()).isPositive();
        tensors.close();
    }
}
