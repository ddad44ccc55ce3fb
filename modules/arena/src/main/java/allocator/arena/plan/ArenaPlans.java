package allocator.arena.plan;

import allocator.arena.ArenaOptions;
import allocator.arena.chunk.Granules;
import allocator.plan.Lifetime;
import allocator.plan.PlanFile;
import allocator.plan.PlanFileException;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The plans that a {@link PlannedAllocator} follows. Immutable; several may share it.
 *
 * <p>A plan's calls are its blocks in the order of {@link Lifetime#lower}, those with the same one in the order of the
 * file. Blocks of 0 bytes are no calls. Ids, ends of lifetimes and alignments have no effect: whether the bytes of a
 * block are free is found out when its call comes.
 */
public final class ArenaPlans {
    private static final Logger LOG = System.getLogger(ArenaPlans.class.getName());

    /** No plan. */
    public static final ArenaPlans NONE = new ArenaPlans(null);

    private final @Nullable PlanTable table;

    private ArenaPlans(@Nullable PlanTable table) {
        this.table = table;
    }

    /**
     * {@return the prepared plans, {@link #NONE} for an empty list}
     *
     * @param names a name for each, for messages
     * @param plans the plans
     * @throws IllegalArgumentException if a plan has no blocks or no offsets, or an offset is not a multiple of
     *     {@link OptionKey#SIZE_GRANULARITY}; the message names the plan
     */
    public static ArenaPlans of(List<String> names, List<PlanFile> plans) {
        if (names.size() != plans.size()) {
            throw new IllegalArgumentException(names.size() + " names for " + plans.size() + " plans");
        }
        final List<PlannedCalls> calls = new ArrayList<>();
        for (int i = 0; i < plans.size(); i++) {
            calls.add(callsOf(names.get(i), plans.get(i)));
        }
        return ofCalls(calls);
    }

    /** Prepares plans of calls. */
    static ArenaPlans ofCalls(List<PlannedCalls> calls) {
        return calls.isEmpty() ? NONE : new ArenaPlans(new PlanTable(calls));
    }

    private static PlannedCalls callsOf(String name, PlanFile plan) {
        if (!plan.hasOffsets()) {
            throw new IllegalArgumentException(name + ": it has no offsets, so it is no plan");
        }
        final int[] blocks = IntStream.range(0, plan.ids().size())
                .filter(block -> plan.instance().lifetime(block).byteSize() > 0)
                .boxed()
                .sorted(Comparator.comparingLong(
                        block -> plan.instance().lifetime(block).lower()))
                .mapToInt(Integer::intValue)
                .toArray();
        if (blocks.length == 0) {
            throw new IllegalArgumentException(name + ": it has no blocks");
        }
        final long[] byteSizes = new long[blocks.length];
        final long[] offsets = new long[blocks.length];
        for (int call = 0; call < blocks.length; call++) {
            final int block = blocks[call];
            byteSizes[call] = Granules.roundUp(plan.instance().lifetime(block).byteSize());
            offsets[call] = plan.offset(block);
            if (!Granules.isWhole(offsets[call])) {
                throw new IllegalArgumentException(name + ": the offset " + offsets[call] + " of block "
                        + plan.ids().get(block) + " is not a multiple of " + Granules.BYTES);
            }
            if (offsets[call] > Lifetime.MAX_SIZE - byteSizes[call]) {
                throw new IllegalArgumentException(name + ": block "
                        + plan.ids().get(block) + " ends at more than " + Lifetime.MAX_SIZE + " bytes");
            }
        }
        return new PlannedCalls(name, byteSizes, offsets);
    }

    /**
     * Reads the plans that {@link ArenaOptions#PLAN} names. Call it also where the key has no effect, to check its
     * value.
     *
     * @param options the requested options
     * @return the plans; {@link #NONE}, with a warning in the log, if they need more than {@link ArenaOptions#MAX_MEM}
     * @throws InvalidOptionException if a file cannot be read or is no plan
     */
    public static ArenaPlans from(AllocatorOptions options) {
        final List<String> names = options.get(ArenaOptions.PLAN);
        if (names.isEmpty()) {
            return NONE;
        }
        final List<PlanFile> files = new ArrayList<>();
        try {
            for (final String name : names) {
                files.add(PlanFile.read(regularFile(name)));
            }
            return within(options, of(names, files));
        } catch (PlanFileException | IllegalArgumentException e) {
            throw invalid(options, e instanceof InvalidPathException path ? reason(path) : e.getMessage());
        }
    }

    private static ArenaPlans within(AllocatorOptions options, ArenaPlans plans) {
        final long limit = options.get(ArenaOptions.MAX_MEM);
        if (limit == 0 || plans.height() <= limit) {
            return plans;
        }
        LOG.log(
                Level.WARNING,
                "option {0}=''{1}'' (from {2}) has no effect: the plans need {3} bytes, more than {4}={5}",
                ArenaOptions.PLAN.name(),
                options.value(ArenaOptions.PLAN.name()),
                options.origin(ArenaOptions.PLAN.name()),
                Long.toString(plans.height()),
                ArenaOptions.MAX_MEM.name(),
                Long.toString(limit));
        return NONE;
    }

    /** Java encodes names of files as the locale said when it was started; a container often has that of ASCII. */
    private static String reason(InvalidPathException e) {
        final String encoding = System.getProperty("sun.jnu.encoding", "");
        return "UTF-8".equals(encoding)
                ? e.getReason()
                : e.getReason() + "; Java encodes names of files as " + encoding + " here, LC_ALL=C.UTF-8 changes that";
    }

    /** Nothing else: a pipe may block for any time, and a device may never end. */
    private static Path regularFile(String name) {
        final Path file = Path.of(name);
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            throw new IllegalArgumentException(name + ": is not a regular file");
        }
        return file;
    }

    private static InvalidOptionException invalid(AllocatorOptions options, @Nullable String reason) {
        final String key = ArenaOptions.PLAN.name();
        return new InvalidOptionException(
                key, Objects.requireNonNull(options.value(key)), "usable: " + reason, options.origin(key));
    }

    /** {@return whether there is no plan} */
    public boolean isEmpty() {
        return table == null;
    }

    /** {@return the bytes an allocator takes for the plans: what the highest one needs; {@code 0} without plans} */
    public long height() {
        return table == null ? 0 : table.height();
    }

    /** Returns the plans as memory follows them; there are some. */
    PlanTable table() {
        return Objects.requireNonNull(table);
    }

    @Override
    public String toString() {
        return table == null ? "none" : table.toString();
    }
}
