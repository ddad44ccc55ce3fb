package allocator.cuda.memory.check;

import allocator.cuda.memory.check.CheckedBlock.Mark;
import allocator.cuda.memory.check.StreamOrder.Clock;
import allocator.spi.StreamHazardException.Use;
import java.util.ArrayList;
import java.util.List;

/**
 * A use of memory by work that is being submitted to a stream. Until it is closed, others follow it as if it were
 * submitted. Used by one thread.
 */
public final class Submission implements AutoCloseable {
    private final StreamChecks checks;
    private final List<CheckedBlock> blocks = new ArrayList<>(2);
    private final List<Mark> marks = new ArrayList<>(2);
    private boolean isSubmitted;

    Submission(StreamChecks checks) {
        this.checks = checks;
    }

    void add(CheckedBlock block, Clock clock, boolean isWrite, Use use) {
        final Mark mark = new Mark(clock, StreamOrder.use(clock), isWrite, use);
        blocks.add(block);
        marks.add(mark);
        block.add(mark);
    }

    /** The work was submitted. */
    public void submitted() {
        isSubmitted = true;
        synchronized (checks) {
            for (int i = 0; i < marks.size(); i++) {
                blocks.get(i).submitted(marks.get(i));
            }
        }
    }

    /** The work was not submitted, so there is no use. */
    public void cancel() {
        synchronized (checks) {
            for (int i = 0; i < marks.size(); i++) {
                blocks.get(i).remove(marks.get(i));
            }
        }
    }

    /** Cancels the use unless the work was submitted. */
    @Override
    public void close() {
        if (!isSubmitted) {
            cancel();
        }
    }
}
