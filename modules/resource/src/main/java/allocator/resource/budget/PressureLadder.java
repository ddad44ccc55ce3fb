package allocator.resource.budget;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The measures to try, in order, before a request is rejected: reap, shrink, spill, call back. Each measure, or rung,
 * runs once for a request that does not fit, and the request is retried after each. A request made by a rung runs no
 * rungs itself.
 *
 * <p>Immutable. Rungs run on the thread of the request; no lock of this module is held.
 */
public final class PressureLadder {
    /** The ladder without rungs: a request that does not fit is rejected at once. */
    public static final PressureLadder NONE = new PressureLadder(List.of());

    private static final ScopedValue<Boolean> IS_CLIMBING = ScopedValue.newInstance();

    private final List<Rung> rungs;

    /** Frees memory under pressure. */
    @FunctionalInterface
    public interface Relief {
        /**
         * Frees memory.
         *
         * @param byteSize the size of the request that did not fit, in bytes
         * @return number of bytes freed, for the report
         */
        long relieve(long byteSize);
    }

    private record Rung(String name, Relief relief) {}

    private PressureLadder(List<Rung> rungs) {
        this.rungs = rungs;
    }

    /**
     * {@return this ladder with one more rung at its end}
     *
     * @param name the name of the rung in reports
     * @param relief frees memory
     */
    public PressureLadder then(String name, Relief relief) {
        final List<Rung> longer = new ArrayList<>(rungs);
        longer.add(new Rung(name, relief));
        return new PressureLadder(List.copyOf(longer));
    }

    /**
     * Runs the rungs until the request fits.
     *
     * @param byteSize the size of the request in bytes
     * @param tryAgain retries the request and returns whether it fits
     * @param report receives a line for each rung
     * @return whether the request fits
     */
    boolean climb(long byteSize, BooleanSupplier tryAgain, StringBuilder report) {
        if (rungs.isEmpty() || IS_CLIMBING.isBound()) {
            return false;
        }
        return ScopedValue.where(IS_CLIMBING, true).call(() -> {
            for (Rung rung : rungs) {
                relieve(rung, byteSize, report);
                if (tryAgain.getAsBoolean()) { // also if another thread freed it
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
