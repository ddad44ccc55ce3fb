package allocator.testkit;

import allocator.spi.EpFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;

/** Files with plans, to run the conformance kit on an arena that follows them. */
public final class PlanFiles {
    private static final int GRANULE = 256;

    /** What blocks of small plans are below, in granules: less than the least limit that the kit sets. */
    private static final int HEIGHT = 64;

    /** Sizes that programs of the kit often begin with, in granules. */
    private static final int[] FIRST = {1, 2, 4, 8, 16};

    private PlanFiles() {}

    /** Returns a provider whose arenas follow plans that no program of the kit follows. */
    public static EpFactory unknown(EpFactory factory, Path folder) {
        return following(factory, List.of(write(folder, "unknown", new int[] {61, 1}, new int[] {0, 0})));
    }

    /** Returns a provider whose arenas follow plans that begin as programs of the kit do, and go on at random. */
    public static EpFactory known(EpFactory factory, Path folder) {
        final Random random = new Random(1);
        final List<Path> files = new ArrayList<>();
        for (final int first : FIRST) {
            for (final int second : FIRST) {
                final int[] sizes =
                        random.ints(6, 0, FIRST.length).map(i -> FIRST[i]).toArray();
                sizes[0] = first;
                sizes[1] = second;
                final int[] offsets = new int[sizes.length];
                for (int i = 0; i < sizes.length; i++) {
                    offsets[i] = random.nextInt(HEIGHT - sizes[i]);
                }
                files.add(write(folder, first + "-" + second, sizes, offsets));
            }
        }
        return following(factory, files);
    }

    private static EpFactory following(EpFactory factory, List<Path> files) {
        final String value = String.join(";", files.stream().map(Path::toString).toList());
        return new DefaultedFactory(factory, "arena.plan", value, Set.of(""));
    }

    private static Path write(Path folder, String name, int[] sizes, int[] offsets) {
        final StringBuilder text = new StringBuilder("id,lower,upper,size,offset\n");
        for (int i = 0; i < sizes.length; i++) {
            text.append(i + "," + i + "," + (i + 1) + "," + (long) sizes[i] * GRANULE + ","
                    + (long) offsets[i] * GRANULE + "\n");
        }
        try {
            return Files.writeString(folder.resolve(name + ".csv"), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
