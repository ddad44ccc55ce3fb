package allocator.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.HostAccessibleAllocator;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
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
