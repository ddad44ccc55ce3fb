package allocator.planner;

import allocator.plan.Instance;
import allocator.plan.Lifetime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;

/** Instances for tests. */
public final class Instances {
    private Instances() {}

    /** Shapes of lifetimes of any number of blocks. */
    public enum Shape {
        /** As of calls: what begins last ends first. */
        NESTED,
        /** A hundredth lives up to a tenth of all time, the others for up to 100 blocks. */
        MIXED,
        /** A stream of random lifetimes, a hundred blocks on average. */
        STEADY;

        public Instance blocks(int count, long seed) {
            final Random random = new Random(seed);
            final List<Lifetime> lifetimes = new ArrayList<>();
            final Deque<Long> begun = new ArrayDeque<>();
            long time = 0;
            while (lifetimes.size() < count) {
                switch (this) {
                    case NESTED -> {
                        time++;
                        if (begun.isEmpty() || (lifetimes.size() + begun.size() < count && random.nextBoolean())) {
                            begun.push(time);
                        } else {
                            lifetimes.add(new Lifetime(begun.pop(), time, 1 + random.nextInt(1 << 20)));
                        }
                    }
                    case MIXED -> {
                        final boolean isLong = random.nextInt(100) == 0;
                        final long duration = 1L + random.nextInt(isLong ? count / 10 : 100);
                        final int most = isLong ? 1 << 16 : 1 << 20;
                        lifetimes.add(new Lifetime(time, time + duration, 1 + random.nextInt(most)));
                        time++;
                    }
                    case STEADY -> {
                        final long duration = 1 + (long) (-Math.log(1 - random.nextDouble()) * 100);
                        lifetimes.add(new Lifetime(time, time + duration, 1 + random.nextInt(1 << 20)));
                        time++;
                    }
                }
            }
            return new Instance(lifetimes);
        }
    }

    /** Cuts a rectangle of a time and a capacity into blocks without loss: the least height is the capacity. */
    static Instance cutFrom(long time, long capacity, int blocks, Random random) {
        record Rectangle(long lower, long upper, long offset, long end) {}
        final List<Rectangle> pieces = new ArrayList<>(List.of(new Rectangle(0, time, 0, capacity)));
        for (int attempts = 0; pieces.size() < blocks && attempts < 20 * blocks; attempts++) {
            final int index = random.nextInt(pieces.size());
            final Rectangle piece = pieces.get(index);
            final boolean isAcrossTime = random.nextBoolean();
            final long length = isAcrossTime ? piece.upper - piece.lower : piece.end - piece.offset;
            if (length > 1) {
                final long cut = 1 + random.nextLong(length - 1);
                if (isAcrossTime) {
                    pieces.set(index, new Rectangle(piece.lower, piece.lower + cut, piece.offset, piece.end));
                    pieces.add(new Rectangle(piece.lower + cut, piece.upper, piece.offset, piece.end));
                } else {
                    pieces.set(index, new Rectangle(piece.lower, piece.upper, piece.offset, piece.offset + cut));
                    pieces.add(new Rectangle(piece.lower, piece.upper, piece.offset + cut, piece.end));
                }
            }
        }
        Collections.shuffle(pieces, random);
        return new Instance(pieces.stream()
                .map(piece -> new Lifetime(piece.lower, piece.upper, piece.end - piece.offset))
                .toList());
    }

    /** Returns blocks of random lifetimes and sizes. */
    public static Instance random(int blocks, long time, long mostBytes, long[] alignments, Random random) {
        final List<Lifetime> lifetimes = new ArrayList<>();
        for (int b = 0; b < blocks; b++) {
            final long lower = random.nextLong(time);
            final long upper = lower + 1 + random.nextLong(time - lower);
            lifetimes.add(new Lifetime(
                    lower, upper, 1 + random.nextLong(mostBytes), alignments[random.nextInt(alignments.length)]));
        }
        return new Instance(lifetimes);
    }
}
