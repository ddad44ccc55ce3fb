package allocator.resource;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * What to try, in order, before a request is refused: reap what is finished, shrink, spill, ask somebody. Each rung is
 * climbed once for a refused request, and the request tried again after each; so the effort is bounded. A request that
 * a rung itself makes does not climb again.
 *
 * <p>Immutable. Rungs run on the thread of the request, without any lock of this module held.
 */
public final class PressureLadder {
    /** No rungs: a request that does not fit is refused at once. */
    public static final PressureLadder NONE = new PressureLadder(List.of());

    private static final ScopedValue<Boolean> IS_CLIMBING = ScopedValue.newInstance();

    private final List<Rung> rungs;

    /** Frees memory under pressure. */
    @FunctionalInterface
    public interface Relief {
        /**
         * Frees what it can.
         *
         * @param byteSize the request that did not fit
         * @return bytes that were freed, for the report
         */
        long relieve(long byteSize);
    }

    private record Rung(String name, Relief relief) {}

    private PressureLadder(List<Rung> rungs) {
        this.rungs = rungs;
    }

    /**
     * This ladder with one more rung at its end.
     *
     * @param name what it is called in reports
     * @param relief what it does
     * @return the longer ladder
     */
    public PressureLadder then(String name, Relief relief) {
        final List<Rung> longer = new ArrayList<>(rungs);
        longer.add(new Rung(name, relief));
        return new PressureLadder(List.copyOf(longer));
    }

    /**
     * Climbs until the request fits.
     *
     * @param byteSize the request
     * @param tryAgain whether it fits now
     * @param report gets a line for each rung
     * @return whether it fitted in the end
     */
    boolean climb(long byteSize, BooleanSupplier tryAgain, StringBuilder report) {
        if (rungs.isEmpty() || IS_CLIMBING.isBound()) {
            return false;
        }
        return ScopedValue.where(IS_CLIMBING, true).call(() -> {
            for (Rung rung : rungs) {
                relieve(rung, byteSize, report);
                if (tryAgain.getAsBoolean()) { // whoever freed it
                    return true;
                }
            }
            return false;
        });
    }

    private static void relieve(Rung rung, long byteSize, StringBuilder report) {
        final long start = System.nanoTime();
        report.append(rung.name).append(": ");
        try {
            report.append(rung.relief.relieve(byteSize)).append(" bytes freed");
        } catch (RuntimeException e) {
            report.append("failed with ").append(e);
        } finally {
            report.append(" in ").append((System.nanoTime() - start) / 1000).append(" us\n");
        }
    }
}
