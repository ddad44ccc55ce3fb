package allocator.resource.tracked;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.FakeResource;
import allocator.resource.MemoryResource;
import allocator.resource.budget.BudgetResource;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** Requests that find no room at first, where the reap for them fails for another block. */
class ReapingRequestsTest {
    private static final long BYTES = 1000;

    private final FakeResource resource = new FakeResource(100 * BYTES);
    private final FakeEvents events = new FakeEvents();
    private final FakeStream stream = new FakeStream(resource.memory());
    private final Budget budget = Budget.of("device", BYTES);

    /** Makes a memory of two freed blocks, of which the upstream rejects the first at its first call. */
    private TrackedMemory full(MemoryResource upstream, Budget charged) {
        TrackedMemory memory = new TrackedMemory(upstream, events, charged);
        TrackedBlock first = memory.allocate(BYTES / 2, stream, "first");
        TrackedBlock second = memory.allocate(BYTES / 2, stream, "second");
        memory.free(first);
        memory.free(second);
        events.advanceAll();
        AtomicInteger frees = new AtomicInteger();
        resource.before(call -> {
            if (call.equals("deallocate") && frees.incrementAndGet() == 1) {
                throw new DeviceException("the device fails", null);
            }
        });
        return memory;
    }

    private void verifyEmpty(TrackedMemory memory, Budget charged) {
        events.advanceAll();
        memory.reap();
        memory.close();
        assertThat(resource.blocks()).isZero();
        assertThat(events.live()).isZero();
        assertThat(charged.status().charge()).isZero();
    }

    @Test
    void aRequestThatFitsTheBudgetAfterAFailedReapSucceedsAndTheFailureIsLogged() {
        TrackedMemory memory = full(resource, budget);
        List<LogRecord> records = logged(() -> memory.free(memory.allocate(400, stream, "third")));
        assertThat(records).hasSize(1);
        assertThat(records.getFirst().getThrown()).hasMessage("the device fails");
        assertThat(memory.status()).isEqualTo(new TrackedMemory.Status(0, 900, 100));
        verifyEmpty(memory, budget);
    }

    @Test
    void aRequestThatFitsTheUpstreamAfterAFailedReapSucceeds() {
        Budget wide = Budget.of("wide", 10 * BYTES);
        TrackedMemory memory = full(new BudgetResource(resource, budget), wide);
        List<LogRecord> records = logged(() -> memory.free(memory.allocate(400, stream, "third")));
        assertThat(records).hasSize(1);
        verifyEmpty(memory, wide);
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void aLaunchReapsAndAFailureOfAnotherBlockIsLogged() {
        Budget wide = Budget.of("wide", 10 * BYTES);
        TrackedMemory memory = full(resource, wide);
        TrackedBlock third = memory.allocate(400, stream, "third");
        List<SyncStream> launched = new ArrayList<>();
        List<LogRecord> records =
                logged(() -> memory.launch(stream).uses(third, Access.WRITE).run(launched::add));
        assertThat(launched).containsExactly(stream);
        assertThat(records).hasSize(1);
        assertThat(memory.status().pending()).isEqualTo(BYTES / 2);
        memory.free(third);
        verifyEmpty(memory, wide);
    }

    @Test
    void aRequestWhoseLogFailsLosesNothing() {
        Budget wide = Budget.of("wide", 10 * BYTES);
        TrackedMemory memory = full(new BudgetResource(resource, budget), wide);
        Runnable failing = () -> {
            throw new LinkageError("the log fails");
        };
        List<LogRecord> records = logged(
                () -> assertThatThrownBy(() -> memory.allocate(400, stream, "third"))
                        .isInstanceOf(LinkageError.class),
                failing);
        assertThat(records).hasSize(1);
        verifyEmpty(memory, wide);
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void aRequestThatStillDoesNotFitHasTheFailureSuppressed() {
        TrackedMemory memory = full(resource, budget);
        TrackedBlock third = memory.allocate(400, stream, "third");
        memory.free(third);
        events.advanceAll();
        DeviceException failure = new DeviceException("the driver fails", null);
        resource.before(call -> {
            throw failure;
        });
        assertThatThrownBy(() -> memory.allocate(BYTES, stream, "fourth"))
                .isInstanceOf(OutOfMemoryException.class)
                .hasSuppressedException(failure);
        assertThat(memory.status()).isEqualTo(new TrackedMemory.Status(0, 900, 100));
        resource.before(call -> {});
        verifyEmpty(memory, budget);
    }

    @Test
    void anErrorOfAReapEndsTheRequestWithoutEffect() {
        TrackedMemory memory = full(resource, budget);
        resource.before(call -> {
            throw new StackOverflowError("injected");
        });
        assertThatThrownBy(() -> memory.allocate(400, stream, "third")).isInstanceOf(StackOverflowError.class);
        assertThat(memory.status()).isEqualTo(new TrackedMemory.Status(0, BYTES, 0));
        resource.before(call -> {});
        verifyEmpty(memory, budget);
    }

    private static List<LogRecord> logged(Runnable action) {
        return logged(action, () -> {});
    }

    private static List<LogRecord> logged(Runnable action, Runnable onRecord) {
        Logger logger = Logger.getLogger(TrackedMemory.class.getName());
        List<LogRecord> records = new ArrayList<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord message) {
                records.add(message);
                onRecord.run();
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        logger.addHandler(handler);
        logger.setUseParentHandlers(false);
        try {
            action.run();
        } finally {
            logger.removeHandler(handler);
            logger.setUseParentHandlers(true);
        }
        return records;
    }
}
