package allocator.conformance.program;

import allocator.conformance.subject.Subject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Generates random programs within the capabilities of an allocator. Most sizes are small, and many are reused. */
public final class ProgramGenerator {
    private static final int STREAMS = 4;
    private static final int NOTIFICATIONS = 6;
    private static final int MAX_LIVE = 48;
    private static final int LARGEST_BITS = 18;

    private final SplittableRandom random;
    private final Capabilities capabilities;
    private final List<Op> steps = new ArrayList<>();
    private final List<Integer> live = new ArrayList<>();
    private final List<Long> sizes = new ArrayList<>();
    private int blocks;

    /**
     * The capabilities of an allocator.
     *
     * @param streams whether it allocates on streams
     * @param reserve whether its level includes reserve
     * @param shrink whether it shrinks
     * @param limit whether it has a limit
     * @param smallestLimit the smallest limit with which it is tested
     * @param manyRegions options that make it take many small regions
     */
    public record Capabilities(
            boolean streams,
            boolean reserve,
            boolean shrink,
            boolean limit,
            long smallestLimit,
            Map<String, String> manyRegions) {}

    private ProgramGenerator(SplittableRandom random, Capabilities capabilities) {
        this.random = random;
        this.capabilities = capabilities;
    }

    /**
     * Generates a program.
     *
     * @param length the number of steps
     */
    public static Program generate(String memory, long seed, int length, Capabilities capabilities) {
        final ProgramGenerator generator = new ProgramGenerator(new SplittableRandom(seed), capabilities);
        final Map<String, String> options = switch (generator.random.nextInt(3)) {
            case 0 ->
                capabilities.limit()
                        ? Map.of(
                                Subject.LIMIT,
                                Long.toString(
                                        Math.max(1L << generator.random.nextInt(16, 21), capabilities.smallestLimit())))
                        : Map.of();
            case 1 -> capabilities.manyRegions();
            default -> Map.of();
        };
        if (capabilities.streams()) {
            for (int stream = 1; stream <= STREAMS - 1; stream++) {
                generator.steps.add(new Op.Open(stream));
            }
        }
        while (generator.steps.size() < length) {
            generator.step();
        }
        return new Program(memory, options, generator.steps);
    }

    private void step() {
        final int dice = random.nextInt(100);
        if (dice < 42) {
            allocate();
        } else if (dice < 76) {
            free();
        } else if (dice < 80) {
            steps.add(random.nextInt(2) == 0 ? new Op.Create() : new Op.Release());
        } else if (dice < 83) {
            if (capabilities.shrink()) {
                steps.add(new Op.Shrink());
            }
        } else if (capabilities.streams()) {
            onStreams(dice);
        }
    }

    private void allocate() {
        if (live.size() >= MAX_LIVE) {
            free();
        }
        final int block = ++blocks;
        live.add(block);
        if (capabilities.reserve() && random.nextInt(10) == 0) {
            steps.add(new Op.Reserve(block, size()));
        } else {
            steps.add(new Op.Alloc(block, size(), capabilities.streams() ? random.nextInt(STREAMS) : 0));
        }
    }

    private void free() {
        if (!live.isEmpty()) {
            final int index = random.nextInt(live.size());
            steps.add(new Op.Free(live.get(index)));
            live.remove(/* index */ index);
        }
    }

    private void onStreams(int dice) {
        final int stream = 1 + random.nextInt(STREAMS);
        final int notification = 1 + random.nextInt(NOTIFICATIONS);
        if (dice < 88) {
            steps.add(new Op.Activate(notification, stream));
        } else if (dice < 94) {
            steps.add(new Op.Await(notification, stream));
        } else if (dice < 96) {
            steps.add(new Op.RunEnd(stream));
        } else if (dice < 97) {
            steps.add(new Op.Flush(stream));
        } else if (dice < 98) {
            steps.add(new Op.Close(stream));
        } else {
            steps.add(new Op.Open(stream));
        }
    }

    /** Returns a size: half of the time one used before, so that blocks fit where others were, and sometimes zero. */
    private long size() {
        if (!sizes.isEmpty() && random.nextInt(2) == 0) {
            return sizes.get(random.nextInt(sizes.size()));
        }
        final long byteSize = random.nextInt(40) == 0 ? 0 : random.nextLong(1L << random.nextInt(1, LARGEST_BITS)) + 1;
        sizes.add(byteSize);
        return byteSize;
    }
}
