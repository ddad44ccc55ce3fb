package allocator.resource.tracked;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.FakeResource;
import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Calls that fail half way, or whose last step fails: what they had taken is given back once. */
class TrackedUndoTest {
    private static final long BYTES = 100;

    private final FakeResource resource = new FakeResource(1 << 20);
    private final FakeEvents events = new FakeEvents();
    private final FailingEvents failing = new FailingEvents(events);
    private final Budget budget = Budget.of("device", 1 << 20);
    private final TrackedMemory memory = new TrackedMemory(resource, failing, budget);
    private final FakeStream one = new FakeStream(resource.memory());
    private final FakeStream two = new FakeStream(resource.memory());

    /** Events that are released, whatever their release throws, and that refuse a use. */
    private static final class FailingEvents implements StreamEvents {
        private final StreamEvents events;
        private boolean areFailing;

        FailingEvents(StreamEvents events) {
            this.events = events;
        }

        @Override
        public long record(SyncStream stream) {
            return events.record(stream);
        }

        @Override
        public void await(SyncStream stream, long event) {
            events.await(stream, event);
        }

        @Override
        public boolean isDone(long event) {
            return events.isDone(event);
        }

        @Override
        public void release(long event) {
            events.release(event);
            if (areFailing) {
                throw new DeviceException("the event is not destroyed", null);
            }
        }

        @Override
        public void check(long address, long byteSize, Access access, SyncStream stream) {
            if (areFailing) {
                throw new DeviceException("the check fails", null);
            }
        }
    }

    @AfterEach
    void nothingIsLeft() {
        failing.areFailing = false;
        resource.afterFree(() -> {});
        for (int round = 0; round < 2; round++) {
            events.advanceAll();
            memory.reap();
        }
        memory.close();
        assertThat(events.live()).isZero();
        assertThat(resource.blocks()).isZero();
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void theFailureOfAnAllocationIsThrownWhateverItsEventThrows() {
        final TrackedBlock block = memory.allocate(BYTES, one, "first");
        resource.clear();
        failing.areFailing = true;
        assertThatThrownBy(() -> memory.allocate(BYTES, one, "second"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("'first'");
        assertThat(memory.status().live()).isEqualTo(BYTES);
        assertThat(resource.allocate(BYTES)).isEqualTo(block.address());
        memory.free(block);
    }

    @Test
    void aWaitThatIsQueuedIsPreparedWhateverItsEventThrows() {
        final TrackedBlock block = memory.allocate(BYTES, one, "block");
        memory.prepare(block, Access.WRITE, one);
        events.failNext("record");
        assertThatThrownBy(() -> memory.finish(block, Access.WRITE, one)).isInstanceOf(DeviceException.class);
        failing.areFailing = true;
        memory.prepare(block, Access.WRITE, two);
        memory.finish(block, Access.WRITE, two);
        memory.free(block);
    }

    @Test
    void aReapWhoseEventThrowsIsDoneByTheNext() {
        memory.free(memory.allocate(BYTES, one, "block"));
        events.advanceAll();
        failing.areFailing = true;
        assertThatThrownBy(memory::reap).hasMessage("the event is not destroyed");
        failing.areFailing = false;
        assertThat(memory.reap()).isEqualTo(BYTES);
    }

    @Test
    void aUseWhoseCheckFailsIsNotOpen() {
        final TrackedMemory checked = TrackedMemory.checked(resource, failing, budget);
        final TrackedBlock block = checked.allocate(BYTES, one, "block");
        failing.areFailing = true;
        assertThatThrownBy(() -> checked.prepare(block, Access.READ, one)).hasMessage("the check fails");
        failing.areFailing = false;
        checked.free(block);
        events.advanceAll();
        checked.close();
    }
}
