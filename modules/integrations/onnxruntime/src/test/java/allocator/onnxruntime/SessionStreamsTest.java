package allocator.onnxruntime;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.spi.DeviceException;
import allocator.testkit.FakeStream;
import allocator.testkit.Faults;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The streams of a session: when they are viewed, when their runs end, when they are closed. */
class SessionStreamsTest {
    private static final long FIRST = 0x1000;
    private static final long SECOND = 0x2000;
    private static final long THIRD = 0x3000;

    private final List<FakeStream> views = new ArrayList<>();

    private final StreamViews all = new StreamViews(handle -> {
        final FakeStream view = new FakeStream().handle(handle);
        views.add(view);
        return view;
    });

    /** The handle of an {@code OrtSyncStream} is half its address here. */
    private final SessionStreams streams = new SessionStreams("the test", address -> address / 2, all);

    @Test
    void aStreamIsViewedOnce() {
        assertSame(streams.of(FIRST), streams.of(FIRST));
        assertNotSame(streams.of(FIRST), streams.of(SECOND));
        assertEquals(2, views.size());
        assertEquals(FIRST / 2, views.getFirst().handle());
    }

    @Test
    void aStreamOfTheProgramIsItsOwnViewUntilItIsClosed() {
        final FakeStream own = new FakeStream().handle(FIRST / 2);
        all.adopt(own);
        assertSame(own, streams.of(FIRST));
        assertEquals(SessionStreams.Use.ON_IT, streams.use(FIRST / 2));
        assertEquals(SessionStreams.Use.ON_OTHERS, streams.use(SECOND / 2));
        own.close();
        final SessionStreams others = new SessionStreams("another", address -> address / 2, all);
        assertNotSame(own, others.of(FIRST)); // the device has given the handle to another stream
        streams.close();
        others.beginRun();
        others.of(FIRST);
        others.endRun();
        assertEquals(1, views.getFirst().runEnds());
        others.close();
        assertTrue(views.getFirst().hasEnded());
    }

    @Test
    void theEndOfARunEndsTheStreamsThatItUsed() {
        streams.beginRun();
        streams.of(FIRST);
        streams.endRun();
        streams.beginRun();
        streams.of(SECOND);
        streams.endRun();
        assertEquals(1, views.get(0).runEnds());
        assertEquals(1, views.get(1).runEnds());
        streams.beginRun();
        streams.endRun();
        assertEquals(1, views.get(0).runEnds());
    }

    /** ONNX Runtime may destroy the stream after the run, and the driver crashes when it is asked about it. */
    @Test
    void aViewIsClosedAtTheEndOfItsRun() {
        for (int run = 0; run < 3; run++) {
            streams.beginRun();
            streams.of(FIRST);
            assertFalse(views.get(run).hasEnded());
            streams.endRun();
            assertEquals(1, views.get(run).runEnds());
            assertTrue(views.get(run).hasEnded());
        }
    }

    @Test
    void twoThreadsThatUseAStreamFirstHaveOneViewOfOneUser() throws InterruptedException {
        final CountDownLatch isMaking = new CountDownLatch(1);
        final CountDownLatch mayMake = new CountDownLatch(1);
        final StreamViews slow = new StreamViews(handle -> {
            isMaking.countDown();
            assertDoesNotThrow(() -> mayMake.await());
            final FakeStream view = new FakeStream().handle(handle);
            views.add(view);
            return view;
        });
        final SessionStreams table = new SessionStreams("the test", address -> address / 2, slow);
        table.beginRun();
        final CountDownLatch isDone = new CountDownLatch(1);
        final Thread first = Thread.ofPlatform().start(() -> {
            table.of(FIRST);
            assertDoesNotThrow(() -> isDone.await());
        });
        assertTrue(isMaking.await(1, TimeUnit.MINUTES));
        final Thread second = Thread.ofPlatform().start(() -> table.of(FIRST));
        while (second.getState() != Thread.State.BLOCKED) {
            assertNotSame(Thread.State.TERMINATED, second.getState(), "a stream has a view before it is made");
            Thread.onSpinWait();
        }
        mayMake.countDown();
        second.join();
        isDone.countDown();
        first.join();
        assertEquals(1, views.size());
        table.endRun();
        assertTrue(views.getFirst().hasEnded(), "the session is the only user");
        table.close();
    }

    @Test
    void aStreamOfTheProgramIsNotEndedWhileAnotherRunMayUseIt() {
        final FakeStream own = new FakeStream().handle(FIRST / 2);
        all.adopt(own);
        streams.beginRun();
        streams.of(FIRST);
        streams.beginRun();
        streams.endRun();
        assertEquals(0, own.runEnds());
        streams.endRun();
        assertEquals(1, own.runEnds());
        assertFalse(own.isClosed());
    }

    /** ONNX Runtime destroys a stream of a thread that has ended, while runs of other threads are in flight. */
    @Test
    void aRunEndsTheStreamsOfItsThreadBesideOtherRuns() throws InterruptedException {
        streams.beginRun();
        streams.of(FIRST);
        final Thread other = Thread.ofPlatform().start(() -> {
            streams.beginRun();
            streams.of(SECOND);
            streams.endRun();
        });
        other.join();
        assertEquals(1, views.get(1).runEnds());
        assertTrue(views.get(1).isClosed());
        views.get(1).before(call -> {
            throw new AssertionError("the driver crashes: " + call);
        });
        assertEquals(0, views.get(0).runEnds());
        assertFalse(views.get(0).isClosed());
        streams.endRun();
        assertEquals(1, views.get(0).runEnds());
        assertTrue(views.get(0).isClosed());
    }

    /** Such as that of a run of the {@code OrtSession} itself. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theDeviceIsNotAskedAboutAStreamOfAnotherThread(boolean isClose) throws InterruptedException {
        final Thread other = Thread.ofPlatform().start(() -> streams.of(FIRST));
        other.join();
        final List<String> calls = new ArrayList<>();
        views.getFirst().before(calls::add);
        if (isClose) {
            streams.close();
        } else {
            streams.beginRun();
            streams.endRun();
        }
        assertEquals(List.of("closeIdle"), calls);
        assertTrue(views.getFirst().hasEnded());
    }

    /** A stream of other code, such as of another library: the runs share it. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aStreamOfSeveralRunsIsEndedByTheLast(boolean isTakenBack) throws InterruptedException {
        streams.beginRun();
        streams.of(FIRST);
        final CountDownLatch isTaken = new CountDownLatch(1);
        final CountDownLatch mayEnd = new CountDownLatch(1);
        final Thread other = Thread.ofPlatform().start(() -> {
            streams.beginRun();
            assertSame(views.getFirst(), streams.of(FIRST));
            isTaken.countDown();
            if (isTakenBack) {
                assertDoesNotThrow(() -> mayEnd.await());
            }
            streams.endRun();
        });
        isTaken.await();
        if (isTakenBack) {
            assertSame(views.getFirst(), streams.of(FIRST));
            streams.endRun();
            assertFalse(views.getFirst().isClosed(), "the other run may have work on it");
            mayEnd.countDown();
            other.join();
        } else {
            other.join();
            assertFalse(views.getFirst().isClosed(), "this run may have work on it");
            streams.endRun();
        }
        assertEquals(1, views.getFirst().runEnds());
        assertTrue(views.getFirst().isClosed());
        assertEquals(1, views.size());
    }

    /** ONNX Runtime has destroyed the stream of the thread, and the driver has given its handle to another one. */
    @Test
    void aHandleThatComesBackAfterItsThreadIsAnotherStream() throws InterruptedException {
        final Thread ended = Thread.ofPlatform().start(() -> streams.of(FIRST));
        ended.join();
        final List<String> calls = new ArrayList<>();
        views.getFirst().before(calls::add);
        streams.beginRun();
        assertNotSame(views.getFirst(), streams.of(FIRST));
        assertEquals(List.of("closeIdle"), calls);
        streams.endRun();
        assertEquals(1, views.get(1).runEnds());
        assertTrue(views.get(1).isClosed());
    }

    @Test
    void anEndThatFailedIsNotTriedAgainAfterItsThread() throws InterruptedException {
        final Thread ended = Thread.ofPlatform().start(() -> {
            streams.beginRun();
            streams.of(FIRST);
            views.getFirst().before(call -> {
                throw new DeviceException("lost", null);
            });
            streams.endRun();
        });
        ended.join();
        final List<String> calls = new ArrayList<>();
        views.getFirst().before(calls::add);
        streams.flush();
        streams.beginRun();
        streams.endRun();
        assertEquals(List.of("closeIdle"), calls);
    }

    @Test
    void aRunBeginsOnlyOnceTheLastOneHasEnded() throws InterruptedException {
        final CountDownLatch isEnding = new CountDownLatch(1);
        final CountDownLatch mayEnd = new CountDownLatch(1);
        streams.beginRun();
        streams.of(FIRST);
        views.getFirst().before(call -> {
            isEnding.countDown();
            assertDoesNotThrow(() -> mayEnd.await());
        });
        final Thread ending = Thread.ofPlatform().start(streams::endRun);
        assertTrue(isEnding.await(1, TimeUnit.MINUTES));
        final Thread beginning = Thread.ofPlatform().start(streams::beginRun);
        while (beginning.getState() != Thread.State.BLOCKED) {
            assertNotSame(Thread.State.TERMINATED, beginning.getState(), "a run began on a stream that is being ended");
            Thread.onSpinWait();
        }
        mayEnd.countDown();
        beginning.join();
        ending.join();
    }

    @Test
    void anEndThatFailsIsTriedAgain() {
        streams.beginRun();
        streams.of(FIRST);
        views.getFirst().before(call -> {
            throw new DeviceException("lost", null);
        });
        streams.endRun();
        views.getFirst().before(call -> {});
        streams.beginRun();
        streams.endRun();
        assertEquals(1, views.getFirst().runEnds());
    }

    @Test
    void aCloseClosesAllViewsAndTriesAgainWhatFailed() {
        streams.of(FIRST);
        streams.of(SECOND);
        views.getFirst().before(call -> {
            throw new DeviceException("lost", null);
        });
        assertThrows(DeviceException.class, streams::close);
        assertTrue(views.get(1).isClosed());
        views.getFirst().before(call -> {});
        streams.close();
        assertTrue(views.getFirst().isClosed());
        streams.close();
    }

    @Test
    void sessionsThatShareAStreamShareItsView() {
        final SessionStreams other = new SessionStreams("another", address -> address / 2, all);
        streams.beginRun();
        assertSame(streams.of(FIRST), other.of(FIRST));
        streams.endRun();
        assertEquals(0, views.getFirst().runEnds(), "the other session may have work on the stream");
        other.close();
        assertFalse(views.getFirst().isClosed());
        streams.beginRun();
        streams.endRun();
        assertEquals(1, views.getFirst().runEnds());
        streams.close();
        assertTrue(views.getFirst().isClosed());
        assertEquals(1, views.size());
    }

    @Test
    void aViewThatCannotBeMadeLeavesNothing() {
        final SessionStreams broken = new SessionStreams("the test", address -> address, new StreamViews(handle -> {
            throw new IllegalArgumentException("of another device");
        }));
        assertThrows(IllegalArgumentException.class, () -> broken.of(FIRST));
        broken.beginRun();
        broken.endRun();
        broken.close();
    }

    @ParameterizedTest
    @MethodSource("allocator.onnxruntime.SessionFaultsTest#throwables")
    void theEndOfARunThrowsNothing(Supplier<Throwable> thrown) {
        streams.beginRun();
        streams.of(FIRST);
        streams.of(SECOND);
        views.getFirst().before(Faults.on("onSessionRunEnd", thrown.get()));
        assertThatCode(streams::endRun).doesNotThrowAnyException();
        assertEquals(0, views.get(0).runEnds());
        assertEquals(1, views.get(1).runEnds());
        views.getFirst().before(Faults.NONE);
        streams.beginRun();
        streams.endRun();
        assertEquals(1, views.get(0).runEnds());
        assertEquals(1, views.get(1).runEnds());
    }

    /** A second close must not return the other session's use of the stream. */
    @ParameterizedTest
    @MethodSource("allocator.onnxruntime.SessionFaultsTest#throwables")
    void aCloseThatIsTriedAgainReleasesEachStreamOnce(Supplier<Throwable> thrown) {
        final SessionStreams other = new SessionStreams("another", address -> address / 2, all);
        assertSame(streams.of(FIRST), other.of(FIRST));
        streams.of(SECOND);
        streams.of(THIRD);
        views.get(1).before(Faults.on("close", thrown.get()));
        assertThatThrownBy(streams::close).isNotNull();
        assertTrue(views.get(2).hasEnded());
        assertThatThrownBy(streams::close).isNotNull();
        assertFalse(views.getFirst().isClosed(), "the other session has work on it");
        views.get(1).before(Faults.NONE);
        streams.close();
        assertTrue(views.get(1).hasEnded());
        other.close();
        assertTrue(views.getFirst().hasEnded());
    }

    @Test
    void aViewThatCannotBeMadeIsTriedAgain() {
        final AtomicBoolean isBroken = new AtomicBoolean(true);
        final SessionStreams recovering = new SessionStreams("the test", address -> address, new StreamViews(handle -> {
            if (isBroken.get()) {
                throw new DeviceException("lost", null);
            }
            final FakeStream view = new FakeStream().handle(handle);
            views.add(view);
            return view;
        }));
        assertThrows(DeviceException.class, () -> recovering.of(FIRST));
        isBroken.set(false);
        assertEquals(FIRST, recovering.of(FIRST).handle());
        recovering.close();
        assertTrue(views.getFirst().hasEnded());
    }

    @Test
    @SuppressWarnings("NullAway") // on purpose
    void aProviderThatReturnsNoViewIsRejectedAndLeavesNothing() {
        final SessionStreams broken =
                new SessionStreams("the test", address -> address, new StreamViews(handle -> null));
        assertThrows(NullPointerException.class, () -> broken.of(FIRST));
        broken.beginRun();
        broken.endRun();
        broken.close();
    }
}
