package allocator.bench.compare;

import java.util.Collection;

/** What an interval says about a threshold. */
enum Verdict {
    /** The whole interval is at most the threshold: B is shown not to be slower than that. */
    PASS("pass"),
    /** The whole interval is above the threshold. */
    SLOWER("slower"),
    /** The threshold is in the interval. */
    UNDECIDED("undecided: needs more rounds");

    private static final int SLOWER_STATUS = 1;
    private static final int UNDECIDED_STATUS = 3;

    private final String text;

    Verdict(String text) {
        this.text = text;
    }

    /** Judges by the ends of the interval; the value between them does not count. */
    static Verdict of(Ratio ratio, double threshold) {
        if (ratio.high() <= threshold) {
            return PASS;
        }
        return ratio.low() > threshold ? SLOWER : UNDECIDED;
    }

    /** The exit status of a comparison: 0 only if all pass. */
    static int exitStatus(Collection<Verdict> verdicts) {
        if (verdicts.contains(SLOWER)) {
            return SLOWER_STATUS;
        }
        return verdicts.contains(UNDECIDED) ? UNDECIDED_STATUS : 0;
    }

    @Override
    public String toString() {
        return text;
    }
}
