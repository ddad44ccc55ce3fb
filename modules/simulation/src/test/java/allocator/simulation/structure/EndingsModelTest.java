package allocator.simulation.structure;

import allocator.provider.support.internal.Endings;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** One end that fails several times, and then succeeds. */
@Tag("thorough")
public class EndingsModelTest {
    private static final int FAILURES = 3;

    private final Endings endings = new Endings();
    private final AtomicInteger runs = new AtomicInteger();

    /** Starts with the end's first failure. */
    public EndingsModelTest() {
        try {
            endings.of(this::end).run();
        } catch (IllegalStateException e) {
            // It is listed.
        }
    }

    private void end() {
        final int run = runs.incrementAndGet();
        if (run <= FAILURES) {
            throw new IllegalStateException("run " + run + " fails");
        }
        if (run > FAILURES + 1) {
            throw new AssertionError("run " + run + " after the end has succeeded");
        }
    }

    @Operation
    public void runAgain() {
        try {
            endings.runAgain();
        } catch (IllegalStateException e) {
            // It is listed again.
        }
    }

    @Validate
    public void isListedUntilItSucceeds() {
        final int expected = runs.get() <= FAILURES ? 1 : 0;
        if (endings.failed() != expected) {
            throw new AssertionError(endings.failed() + " ends are listed after " + runs + " runs");
        }
    }

    @Test
    void anEndIsListedOnceUntilItSucceeds() {
        ModelCheck.check(EndingsModelTest.class);
    }
}
