package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.FakeFactory;
import allocator.testkit.Faults;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Streams that belong to a session's user: new ones, and views of streams that other code created. */
class SessionStreamsTest {
    private final FakeFactory gpu = FakeFactory.gpu("Gpu");
    private final Environment environment = Environments.empty();
    private final Session session;

    SessionStreamsTest() {
        environment.register(gpu);
        session = environment.openSession(
                SessionOptions.builder().name("bert").provider("Gpu").build());
    }

    @AfterEach
    void close() {
        session.close();
        environment.close();
        assertThat(gpu.openStreams()).isZero();
    }

    @Test
    void theyOutliveRunsAndAreSharedWithNone() {
        final SyncStream mine = session.openStream();
        session.run(RunOptions.DEFAULT, run -> {
            assertThat(run.stream(0)).isNotSameAs(mine);
            run.allocator().free(run.allocator().allocOnStream(8, mine));
        });
        assertThat(session.openStream(session.allocator().info())).isNotSameAs(mine);
        assertThat(mine.hasEnded()).isFalse();
        assertThat(gpu.openStreams()).isEqualTo(3);
    }

    @Test
    void theSessionClosesThoseThatAreOpen() {
        final SyncStream closed = session.openStream();
        final SyncStream open = session.viewStream(0x77);
        final long block = session.allocator().alloc(1);
        closed.close();
        session.close();
        assertThat(open.hasEnded()).isTrue();
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(session::openStream);
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> session.viewStream(1));
        session.allocator().free(block); // ends the session, whatever was rejected
    }

    @Test
    void eachOfThoseThatFailedToCloseIsClosedAgain() {
        final List<SyncStream> opened = List.of(session.openStream(), session.openStream(), session.openStream());
        final DeviceException failure = new DeviceException("fails", null);
        gpu.streams().forEach(stream -> stream.before(Faults.on("close", failure)));
        assertThatExceptionOfType(DeviceException.class).isThrownBy(session::close);
        assertThat(opened).noneMatch(SyncStream::hasEnded);
        gpu.streams().forEach(stream -> stream.before(Faults.NONE));
        session.close();
        assertThat(opened).allMatch(SyncStream::hasEnded);
    }

    /** A session that is closed within a run ends with the run. */
    @Test
    void aRunOfAClosedSessionKeepsThemOpen() {
        final List<SyncStream> opened = new ArrayList<>();
        session.run(RunOptions.DEFAULT, run -> {
            session.close();
            opened.add(session.openStream());
            assertThat(opened.getFirst().hasEnded()).isFalse();
        });
        assertThat(opened.getFirst().hasEnded()).isTrue();
    }

    @Test
    void thoseThatTheUserClosedAreForgotten() {
        for (int i = 0; i < 1_000; i++) {
            session.openStream().close();
        }
        session.close();
        // A second close would be in the log: one line for each close and run end.
        assertThat(gpu.log().stream().filter("close stream"::equals)).hasSizeBetween(1_000, 1_001);
    }

    @Test
    void aViewHasTheHandleThatItWasGiven() {
        assertThat(session.viewStream(0x77).handle()).isEqualTo(0x77);
        assertThat(session.viewStream(session.allocator().info(), 0x78).handle())
                .isEqualTo(0x78);
    }

    @Test
    void theProvidersRejectionsOfAViewAreThrownOn() {
        for (final RuntimeException rejection :
                List.of(new IllegalArgumentException("foreign"), new IllegalStateException("viewed"))) {
            gpu.before(call -> {
                if (call.equals("viewSyncStream")) {
                    throw rejection;
                }
            });
            assertThatExceptionOfType(rejection.getClass())
                    .isThrownBy(() -> session.viewStream(1))
                    .isSameAs(rejection);
        }
        gpu.before(call -> {
            if (call.equals("viewSyncStream")) {
                throw new UnsupportedOperationException("a fault");
            }
        });
        assertThatExceptionOfType(ProviderException.class)
                .isThrownBy(() -> session.viewStream(1))
                .withMessageContaining("viewSyncStream");
        gpu.before(call -> {
            if (call.endsWith("SyncStream")) {
                throw new DeviceException("fails", null);
            }
        });
        assertThatExceptionOfType(DeviceException.class).isThrownBy(session::openStream);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> session.viewStream(1));
        gpu.before(call -> {});
    }

    @Test
    void memoryThatTheSessionDoesNotHaveHasNoStreams() {
        final MemoryInfo other = FakeFactory.cpu("Cpu")
                .discoverDevices()
                .devices()
                .getFirst()
                .memoryInfos()
                .getFirst();
        assertThatExceptionOfType(UnsupportedMemoryException.class).isThrownBy(() -> session.openStream(other));
        assertThatExceptionOfType(UnsupportedMemoryException.class).isThrownBy(() -> session.viewStream(other, 1));
    }

    @Test
    void aProviderWithoutViewsSaysSo() {
        try (Environment all = Environment.builder().build();
                Session host = all.openSession(
                        SessionOptions.builder().provider("cpu-reference").build())) {
            assertThatExceptionOfType(UnsupportedMemoryException.class)
                    .isThrownBy(() -> host.viewStream(1))
                    .withMessageContaining("cpu-reference has no views of streams");
            host.openStream();
        }
    }
}
