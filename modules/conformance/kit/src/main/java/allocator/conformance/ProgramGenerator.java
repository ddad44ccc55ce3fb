package allocator.conformance;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Makes random programs of what an allocator can do. Sizes are small by preference, and often used again. */
final class ProgramGenerator {
    private static final int STREAMS = 4;
    private static final int NOTIFICATIONS = 6;
    private static final int MAX_LIVE = 48;
    private static final int LARGEST_BITS = 18;

    private final SplittableRandom random;
    private final Abilities abilities;
    private final List<Op> steps = new ArrayList<>();
    private final List<Integer> live = new ArrayList<>();
    private final List<Long> sizes = new ArrayList<>();
    private int blocks;

    /**
     * What an allocator can do.
     *
     * @param streams whether it allocates on streams
     * @param reserve whether it is of a level with reserve
     * @param shrink whether it shrinks
     * @param limit whether it can be limited
     * @param manyRegions settings that make it take many small regions
     */
    record Abilities(
            boolean streams, boolean reserve, boolean shrink, boolean limit, Map<String, String> manyRegions) {}

    private ProgramGenerator(SplittableRandom random, Abilities abilities) {
        this.random = random;
        this.abilities = abilities;
    }

    static Program generate(String memory, long seed, int length, Abilities abilities) {
        final ProgramGenerator generator = new ProgramGenerator(new SplittableRandom(seed), abilities);
        final Map<String, String> options = switch (generator.random.nextInt(3)) {
            case 0 ->
                abilities.limit()
                        ? Map.of(Subject.LIMIT, Long.toString(1L << generator.random.nextInt(16, 21)))
                        : Map.of();
            case 1 -> abilities.manyRegions();
            default -> Map.of();
        };
        if (abilities.streams()) {
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
            if (abilities.shrink()) {
                steps.add(new Op.Shrink());
            }
        } else if (abilities.streams()) {
            onStreams(dice);
        }
    }

    private void allocate() {
        if (live.size() >= MAX_LIVE) {
            free();
        }
        final int block = ++blocks;
        live.add(block);
        if (abilities.reserve() && random.nextInt(10) == 0) {
            steps.add(new Op.Reserve(block, size()));
        } else {
            steps.add(new Op.Alloc(block, size(), abilities.streams() ? random.nextInt(STREAMS) : 0));
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

    /** Half of the sizes were used before, so that blocks fit where others were; zero comes up now and then. */
    private long size() {
        if (!sizes.isEmpty() && random.nextInt(2) == 0) {
            return sizes.get(random.nextInt(sizes.size()));
        }
        final long byteSize = random.nextInt(40) == 0 ? 0 : random.nextLong(1L << random.nextInt(1, LARGEST_BITS)) + 1;
        sizes.add(byteSize);
        return byteSize;
    }
}
