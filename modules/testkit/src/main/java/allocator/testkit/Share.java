package allocator.testkit;

/**
 * How much of a long series a test runs: all of it with the profile {@code thorough} and outside Maven, a part in a
 * build. The system property {@code allocator.tests.percent} sets it.
 */
public final class Share {
    private static final int PERCENT = Integer.getInteger("allocator.tests.percent", 100);

    private Share() {}

    /** Returns how many of a number of random programs a test runs, at least one, from the first seed on. */
    public static int of(int all) {
        return Math.max(1, (int) ((long) all * PERCENT / 100));
    }

    /**
     * Returns the distance from one member of a series to the next that a test takes, 1 for every member. A test that
     * goes through a series several times starts elsewhere each time.
     */
    public static int step() {
        return Math.max(1, 100 / PERCENT);
    }
}
