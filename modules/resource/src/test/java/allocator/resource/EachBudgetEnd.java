package allocator.resource;

import static allocator.resource.EachEnd.require;

import allocator.provider.support.budget.Budget;
import allocator.testkit.HeapEnds;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A call of new budgets at each end; a part of {@link EachEnd}. */
final class EachBudgetEnd implements HeapEnds.Subject {
    private static final long BYTES = 100;
    private static final long LIMIT = 1000;

    /** A call, and the charges before and after it. */
    private enum Kind {
        CHARGE(0, BYTES, budgets -> budgets.two.charge(BYTES)),
        RELEASE(BYTES, 0, budgets -> budgets.two.release(BYTES)),
        RESERVE(0, BYTES, budgets -> budgets.reserved = budgets.two.tryReserve("reserved", BYTES)),
        END_OF_RESERVATION(
                BYTES, 0, budgets -> Objects.requireNonNull(budgets.reserved).close()),
        REJECTED(0, 0, budgets -> budgets.two.charge(LIMIT + 1)),
        NEW_LIMIT(0, 0, budgets -> budgets.two.setLimit(LIMIT)),
        READ(0, 0, budgets -> budgets.two.isLimitBelow(budgets.two.status().charge()));

        private final long before;
        private final long after;

        @SuppressWarnings("ImmutableEnumChecker") // the actions hold nothing
        private final Consumer<EachBudgetEnd> call;

        Kind(long before, long after, Consumer<EachBudgetEnd> call) {
            this.before = before;
            this.after = after;
            this.call = call;
        }
    }

    private final Kind kind;
    private final Budget all = Budget.of("all", LIMIT);
    private final Budget one = all.child("one", Budget.UNLIMITED);
    private final Budget two = one.child("two", Budget.UNLIMITED);
    private @Nullable Budget reserved;

    static void run() {
        for (Kind kind : Kind.values()) {
            HeapEnds.each("budget, " + kind, () -> new EachBudgetEnd(kind));
        }
    }

    private EachBudgetEnd(Kind kind) {
        this.kind = kind;
        if (kind == Kind.RELEASE) {
            two.charge(BYTES);
        } else if (kind == Kind.END_OF_RESERVATION) {
            reserved = two.tryReserve("reserved", BYTES);
        }
    }

    @Override
    public void call() {
        kind.call.accept(this);
    }

    @Override
    public void verify(boolean isDone) {
        check(isDone ? kind.after : kind.before);
        require(all.status().rejections() == (isDone && kind == Kind.REJECTED ? 1 : 0), all.status());
        require((two.status().limit() == LIMIT) == (isDone && kind == Kind.NEW_LIMIT), two.status());
        if (reserved != null) {
            reserved.close();
        } else if (two.status().charge() > 0) {
            two.release(BYTES);
        }
        check(0);
        for (Budget budget : List.of(two, one, all)) {
            require(!hasOwnCharges(budget), budget + " has own charges");
        }
        two.charge(BYTES);
        check(BYTES);
    }

    private void check(long bytes) {
        for (Budget budget : List.of(two, one, all)) {
            require(budget.status().charge() == bytes, budget.status());
        }
    }

    private static boolean hasOwnCharges(Budget budget) {
        try {
            budget.release(1);
            return true;
        } catch (IllegalStateException e) {
            return false;
        }
    }
}
