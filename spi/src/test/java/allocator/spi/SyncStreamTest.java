package allocator.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SyncStreamTest {
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Test", new MemoryLocation(DeviceType.GPU, 1, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    private final List<String> deviceCalls = new ArrayList<>();

    private final class TestStream extends SyncStream {
        TestStream() {
            super(MEMORY);
        }

        @Override
        public long handle() {
            return 7;
        }

        @Override
        public TestNotification createNotification() {
            return new TestNotification(this);
        }

        @Override
        public void flush() {}

        @Override
        public void onSessionRunEnd() {}

        @Override
        public void close() {}
    }

    private final class TestNotification extends SyncNotification {
        private boolean failing;

        TestNotification(SyncStream stream) {
            super(stream);
        }

        private void call(String name) {
            if (failing) {
                throw new DeviceException(name, null);
            }
            deviceCalls.add(name + "@" + stream().syncId());
        }

        @Override
        protected void record() {
            call("record");
        }

        @Override
        protected void enqueueWait(SyncStream consumer) {
            call("wait");
        }

        @Override
        protected void await() {
            call("await");
        }

        @Override
        public void close() {}
    }

    private static TestNotification activated(TestStream stream) {
        final TestNotification notification = stream.createNotification();
        notification.activate();
        return notification;
    }

    @Test
    void idsRiseAndAreNeverUsedAgain() {
        final TestStream first = new TestStream();
        first.close();
        final TestStream second = new TestStream();
        assertThat(first.id()).isPositive();
        assertThat(second.id()).isGreaterThan(first.id());
        assertThat(second.handle()).isEqualTo(first.handle());
    }

    @Test
    void aStreamKnowsNothingOfOthersAndEverythingOfItself() {
        final TestStream stream = new TestStream();
        assertThat(stream.syncId()).isZero();
        assertThat(stream.lastWaitedSyncId(new TestStream())).isZero();
        assertThat(stream.lastWaitedSyncId(stream)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void waitingTeachesTheProducersSyncId() {
        final TestStream producer = new TestStream();
        final TestStream consumer = new TestStream();
        activated(producer);
        activated(producer).waitOnDevice(consumer);
        assertThat(producer.syncId()).isEqualTo(2);
        assertThat(consumer.lastWaitedSyncId(producer)).isEqualTo(2);
        assertThat(producer.lastWaitedSyncId(consumer)).isZero();
    }

    @Test
    void knowledgePassesOnThroughThirdStreams() {
        final TestStream first = new TestStream();
        final TestStream second = new TestStream();
        final TestStream third = new TestStream();
        activated(first).waitOnDevice(second);
        activated(second).waitOnDevice(third);
        assertThat(third.lastWaitedSyncId(first)).isEqualTo(1);
    }

    @Test
    void theStreamsWaitedForAreListedWithThoseThroughOthers() {
        final TestStream first = new TestStream();
        final TestStream second = new TestStream();
        final TestStream third = new TestStream();
        assertThat(third.waitedStreams()).isZero();
        activated(first).waitOnDevice(second);
        activated(second).waitOnDevice(third);
        final List<Long> waited = new ArrayList<>();
        third.forEachWaitedStream(waited::add);
        assertThat(waited).containsExactly(first.id(), second.id());
        assertThat(third.waitedStreams()).isEqualTo(2);
    }

    @Test
    void aNotificationCarriesWhatWasKnownWhenItWasActivated() {
        final TestStream first = new TestStream();
        final TestStream second = new TestStream();
        final TestStream third = new TestStream();
        final TestNotification early = activated(second);
        activated(first).waitOnDevice(second);
        early.waitOnDevice(third);
        assertThat(third.lastWaitedSyncId(first)).isZero();
    }

    @Test
    void waitingForAnOlderEventForgetsNothing() {
        final TestStream producer = new TestStream();
        final TestStream consumer = new TestStream();
        final TestNotification older = activated(producer);
        activated(producer).waitOnDevice(consumer);
        older.waitOnDevice(consumer);
        assertThat(consumer.lastWaitedSyncId(producer)).isEqualTo(2);
    }

    @Test
    void theSyncIdRisesBeforeTheDeviceRecords() {
        activated(new TestStream());
        assertThat(deviceCalls).containsExactly("record@1");
    }

    @Test
    void aFailedWaitTeachesNothing() {
        final TestStream producer = new TestStream();
        final TestStream consumer = new TestStream();
        final TestNotification notification = activated(producer);
        notification.failing = true;
        assertThatThrownBy(() -> notification.waitOnDevice(consumer)).isInstanceOf(DeviceException.class);
        assertThat(consumer.lastWaitedSyncId(producer)).isZero();
    }

    @Test
    void aFailedActivationLeavesTheNotificationAsItWas() {
        final TestStream producer = new TestStream();
        final TestStream consumer = new TestStream();
        final TestNotification notification = activated(producer);
        notification.failing = true;
        assertThatThrownBy(notification::activate).isInstanceOf(DeviceException.class);
        notification.failing = false;
        notification.waitOnDevice(consumer);
        assertThat(consumer.lastWaitedSyncId(producer)).isEqualTo(1);
        assertThat(producer.syncId()).isEqualTo(2);
    }

    @Test
    void waitingBeforeActivationIsRejected() {
        final TestNotification notification = new TestStream().createNotification();
        assertThatIllegalStateException().isThrownBy(notification::waitOnHost);
        assertThatIllegalStateException().isThrownBy(() -> notification.waitOnDevice(new TestStream()));
        assertThat(deviceCalls).isEmpty();
    }
}
