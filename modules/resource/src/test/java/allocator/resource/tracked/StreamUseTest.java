package allocator.resource.tracked;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.FakeResource;
import allocator.spi.DeviceException;
import allocator.testkit.FakeStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class StreamUseTest {
    private final FakeResource resource = new FakeResource(1000);
    private final FakeEvents events = new FakeEvents();
    private final TrackedMemory memory = new TrackedMemory(resource, events, Budget.of("device", 1000));
    private final FakeStream one = new FakeStream(resource.memory());
    private final FakeStream two = new FakeStream(resource.memory());
    private final TrackedBlock block = memory.allocate(100, one, "test");

    /** A use of the block that has no event: the work may or may not have been submitted. */
    private void useWithoutEvent(Access access) {
        try (TrackedLaunch launch = memory.launch(one).uses(block, access)) {
            launch.prepare();
        }
    }

    @Nested
    class ClosedStreams {
        @AfterEach
        void nothingIsLeft() {
            memory.close();
            assertThat(events.live()).isZero();
            assertThat(resource.blocks()).isZero();
        }

        @Test
        void aUseWithoutAnEventIsComplete() {
            useWithoutEvent(Access.WRITE);
            one.close();
            memory.free(block);
            assertThat(memory.reap()).isEqualTo(100);
        }

        @Test
        void aUseWithAnEventIsComplete() {
            memory.prepare(block, Access.READ, one);
            memory.finish(block, Access.READ, one);
            useWithoutEvent(Access.READ);
            one.close();
            memory.free(block);
            assertThat(memory.reap()).isEqualTo(100);
        }

        @Test
        void anotherStreamNeedNotWait() {
            events.advanceAll();
            useWithoutEvent(Access.WRITE);
            one.close();
            memory.prepare(block, Access.WRITE, two);
            memory.finish(block, Access.WRITE, two);
            events.advanceAll();
            memory.free(block);
            assertThat(memory.reap()).isEqualTo(100);
        }

        @Test
        void aUseIsFinishedAlthoughItsStreamIsClosed() {
            memory.prepare(block, Access.WRITE, one);
            one.close();
            assertThatThrownBy(() -> memory.finish(block, Access.WRITE, one)).isInstanceOf(IllegalStateException.class);
            memory.free(block);
            assertThat(memory.reap()).isEqualTo(100);
        }
    }

    /** The device could not confirm that the work of the stream is done. */
    @Nested
    class StreamsThatHaveNotEnded {
        @Test
        void aUseWithoutAnEventMayBeIncomplete() {
            useWithoutEvent(Access.WRITE);
            one.before(operation -> {
                throw new DeviceException("planted", null);
            });
            assertThatThrownBy(one::close).isInstanceOf(DeviceException.class);
            assertThatThrownBy(() -> memory.prepare(block, Access.WRITE, two))
                    .isInstanceOf(IllegalStateException.class);
            memory.free(block);
            events.advanceAll();
            assertThat(memory.reap()).isZero();
            assertThat(memory.status().pending()).isEqualTo(100);
            assertThat(resource.blocks()).isEqualTo(1);
        }
    }
}
