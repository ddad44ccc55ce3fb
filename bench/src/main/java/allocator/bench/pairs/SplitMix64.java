package allocator.bench.pairs;

/** The generator of all workloads: SplitMix64, in 64-bit arithmetic that wraps. Not for use by several threads. */
final class SplitMix64 {
    private static final long GAMMA = 0x9E3779B97F4A7C15L;

    private long state;

    SplitMix64(long seed) {
        state = seed;
    }

    long next() {
        state += GAMMA;
        long z = state;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    /** A number below {@code bound}, uniform. */
    int nextInt(int bound) {
        return (int) (((next() >>> 32) * bound) >>> 32);
    }

    /** A size whose octave is uniform from {@code low} to {@code high}, and which is uniform in its octave. */
    int nextSize(int low, int high) {
        return sizeOf(next(), low, high);
    }

    private static int sizeOf(long random, int low, int high) {
        final int octave = low + (int) (((random >>> 32) * (high - low + 1)) >>> 32);
        return (1 << octave) | ((int) random & ((1 << octave) - 1));
    }
}
