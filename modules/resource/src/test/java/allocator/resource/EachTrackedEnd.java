package allocator.resource;

import static allocator.resource.EachEnd.require;

import allocator.provider.support.budget.Budget;
import allocator.resource.EachEnd.Source;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.StreamEvents;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedBlockException;
import allocator.resource.tracked.TrackedLaunch;
import allocator.resource.tracked.TrackedMemory;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import allocator.testkit.HeapEnds;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A call of a new tracked memory at each end; a part of {@link EachEnd}. */
final class EachTrackedEnd implements HeapEnds.Subject {
    private static final SyncStream ONE = new FakeStream();
    private static final SyncStream OTHER = new FakeStream();

    /** A call. A later one begins where an earlier one ends. */
    private enum Kind {
        ALLOCATE(EachTrackedEnd::allocate),
        PREPARE(tracked -> tracked.memory.prepare(tracked.block(), Access.WRITE, OTHER)),
        FINISH(tracked -> tracked.memory.finish(tracked.block(), Access.WRITE, OTHER)),
        LAUNCH(EachTrackedEnd::launch),
        PREPARE_AFTER_READ(PREPARE.call),
        FINISH_AFTER_READ(FINISH.call),
        FREE(tracked -> tracked.memory.free(tracked.block())),
        REAP(tracked -> tracked.memory.reap());

        @SuppressWarnings("ImmutableEnumChecker") // the actions hold nothing
        private final Consumer<EachTrackedEnd> call;

        Kind(Consumer<EachTrackedEnd> call) {
            this.call = call;
        }
    }

    /** Events that call nothing, and are done at once. */
    private static final class Events implements StreamEvents {
        private int live;

        @Override
        public long record(SyncStream stream) {
            live++;
            return 1;
        }

        @Override
        public void await(SyncStream stream, long event) {}

        @Override
        public boolean isDone(long event) {
            return true;
        }

        @Override
        public void release(long event) {
            live--;
        }
    }

    private final Kind kind;
    private final Source source = new Source(false);
    private final Events events = new Events();
    private final Budget budget = Budget.of("all", Budget.UNLIMITED);
    private final TrackedMemory memory;
    private @Nullable TrackedBlock block;

    static void run() {
        for (Kind kind : Kind.values()) {
            HeapEnds.each("tracked memory, " + kind, () -> new EachTrackedEnd(kind, false));
            HeapEnds.each("checked memory, " + kind, () -> new EachTrackedEnd(kind, true));
        }
    }

    private EachTrackedEnd(Kind kind, boolean isChecked) {
        this.kind = kind;
        memory = isChecked ? TrackedMemory.checked(source, events, budget) : new TrackedMemory(source, events, budget);
        for (Kind before : Kind.values()) {
            if (before.compareTo(kind) < 0) {
                before.call.accept(this);
            }
        }
    }

    private void allocate() {
        block = memory.allocate(100, ONE, "block");
    }

    private TrackedBlock block() {
        return Objects.requireNonNull(block);
    }

    private void launch() {
        try (TrackedLaunch launch = memory.launch(ONE).uses(block(), Access.READ)) {
            launch.prepare();
            launch.commit();
        }
    }

    @Override
    public void call() {
        kind.call.accept(this);
    }

    @Override
    public void verify(boolean isDone) {
        final int before = kind == Kind.ALLOCATE ? 0 : 1;
        final int after = kind == Kind.REAP ? 0 : 1;
        final int blocks = isDone ? after : before;
        require(source.blocks == blocks, source.blocks + " blocks are out, not " + blocks);
        if (block != null) {
            finish();
            free();
        }
        memory.close();
        require(source.blocks == 0, source.blocks + " blocks are lost");
        require(events.live == 0, events.live + " events are lost");
        require(budget.status().charge() == 0, budget.status());
    }

    /** Ends a use that is open. */
    private void finish() {
        try {
            memory.finish(block(), Access.WRITE, OTHER);
        } catch (TrackedBlockException e) {
            // None is.
        }
    }

    private void free() {
        try {
            memory.free(block());
        } catch (TrackedBlockException e) {
            require(kind.compareTo(Kind.FREE) >= 0, e);
        }
    }
}
