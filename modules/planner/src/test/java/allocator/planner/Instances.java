package allocator.planner;

import allocator.plan.Instance;
import allocator.plan.Lifetime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Instances for tests. */
final class Instances {
    private Instances() {}

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
    static Instance random(int blocks, long time, long mostBytes, long[] alignments, Random random) {
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
