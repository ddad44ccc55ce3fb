package allocator.bench.gpu;

/**
 * The work of one thread in {@link ThreadsBenchmark}: which of 256 live blocks is replaced next, by how large a one.
 * Sizes are log-uniform from 256 bytes to 4 MiB. Computed beforehand, and repeated, so that no time goes into making
 * numbers up; {@code bench/rivals/workload.h} makes the same numbers.
 */
final class Pairs {
    static final int LIVE = 256;
    static final int STEPS = 1 << 16;

    final int[] slots = new int[STEPS];
    final long[] sizes = new long[STEPS];
    private long state;

    Pairs(int thread) {
        state = thread * 7919L + 1;
        for (int step = 0; step < STEPS; step++) {
            slots[step] = (int) (next() % LIVE);
            sizes[step] = (long) (256 * Math.pow(2, next() % 14_000 / 1000.0));
        }
    }

    private long next() {
        state = state * 6364136223846793005L + 1442695040888963407L;
        return state >>> 33;
    }
}
