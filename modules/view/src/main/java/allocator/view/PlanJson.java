package allocator.view;

import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.plan.Plan;
import java.io.IOException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.IntToLongFunction;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The data of a plan's page as JSON. Numbers are kept short, as there may be hundreds of thousands of blocks: sizes and
 * offsets are in a common unit, each block's beginning is that since the block before, and so are ids that are numbers.
 * A number that JavaScript would round is written as text.
 *
 * <p>Of too many blocks the largest are shown one by one, and of the others how many there are in each cell of a grid.
 */
final class PlanJson {
    /** Ids that JSON has as numbers, without a loss. */
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,14}");

    /** The largest number up to which JavaScript has all. */
    private static final long MOST_EXACT = (1L << 53) - 1;

    /** The cells of the grid, over time and over offsets. */
    private static final int COLUMNS = 400;

    private static final int ROWS = 200;

    private final ShownJson json;
    private final PlannedBlocks planned;
    private final Instance instance;

    /** The blocks that are shown, by the beginning of their lives. */
    private final int[] blocks;

    /** The other blocks. */
    private final int[] small;

    private PlanJson(ShownJson json, PlannedBlocks planned, int most) {
        this.json = json;
        this.planned = planned;
        instance = planned.instance();
        final int[] bySize = sorted(
                IntStream.range(0, instance.size())
                        .filter(block -> !instance.lifetime(block).isEmpty()),
                block -> -instance.lifetime(block).byteSize());
        final int shown = Math.min(most, bySize.length);
        blocks = sorted(
                Arrays.stream(bySize, 0, shown).sorted(),
                block -> instance.lifetime(block).lower());
        small = Arrays.copyOfRange(bySize, shown, bySize.length);
    }

    private static int[] sorted(IntStream blocks, ToLongFunction<Integer> key) {
        return blocks.boxed()
                .sorted(Comparator.comparingLong(key))
                .mapToInt(Integer::intValue)
                .toArray();
    }

    /** Returns the data, with at most {@code most} blocks one by one. */
    static String of(String name, PlannedBlocks planned, int most) {
        return ShownJson.of(json -> {
            json.writeStringField("title", name);
            json.writeStringField("kind", "plan");
            json.writeStringField("subtitle", planned.subtitle());
            json.writeNumberField("first", 0);
            json.array("series", List.of(), _ -> {});
            json.array("maps", List.of(), _ -> {});
            json.object("plan", _ -> new PlanJson(json, planned, most).write());
        });
    }

    private void write() throws IOException {
        final long start = all().mapToLong(Lifetime::lower).min().orElse(0);
        final long end = all().mapToLong(Lifetime::upper).max().orElse(start);
        long unit = 0;
        for (int i = 0; i < blocks.length; i++) {
            unit = gcd(lifetime(i).byteSize(), gcd(planned.plan().offset(blocks[i]), unit));
        }
        final long divisor = Math.max(1, unit);
        writeField("height", planned.plan().height());
        writeField("bound", planned.plan().lowerBound());
        writeField("capacity", planned.capacity());
        writeField("unit", divisor);
        json.writeStringField("start", Long.toString(start));
        writeField("span", end - start);
        writeFacts();
        if (small.length > 0) {
            writeSmall(start, end);
        }
        writeIds();
        writeColumn(
                "since",
                i -> lifetime(i).lower() - (i == 0 ? start : lifetime(i - 1).lower()));
        writeColumn("life", i -> lifetime(i).upper() - lifetime(i).lower());
        writeColumn("size", i -> lifetime(i).byteSize() / divisor);
        writeColumn("offset", i -> planned.plan().offset(blocks[i]) / divisor);
    }

    private Stream<Lifetime> all() {
        return IntStream.concat(Arrays.stream(blocks), Arrays.stream(small)).mapToObj(instance::lifetime);
    }

    /** Writes how many small blocks there are in each cell, row by row from the lowest offsets and the first times. */
    private void writeSmall(long start, long end) throws IOException {
        final int[][] changes = new int[ROWS][COLUMNS + 1];
        final double height = planned.plan().height();
        for (final int block : small) {
            final Lifetime life = instance.lifetime(block);
            final double middle = planned.plan().offset(block) + life.byteSize() / 2.0;
            final int[] row = changes[Math.clamp((long) (middle / height * ROWS), 0, ROWS - 1)];
            final double span = unsigned(end - start);
            final int first = Math.clamp((long) (unsigned(life.lower() - start) / span * COLUMNS), 0, COLUMNS - 1);
            final int last = Math.clamp(
                    (long) Math.ceil(unsigned(life.upper() - start) / span * COLUMNS) - 1, first, COLUMNS - 1);
            row[first]++;
            row[last + 1]--;
        }
        writeField("columns", COLUMNS);
        writeField("rows", ROWS);
        writeField("smallBlocks", small.length);
        writeField("smallBytes", instance.lifetime(small[0]).byteSize());
        json.writeArrayFieldStart("small");
        for (final int[] row : changes) {
            int live = 0;
            for (int column = 0; column < COLUMNS; column++) {
                live += row[column];
                json.writeNumber(live);
            }
        }
        json.writeEndArray();
    }

    private static double unsigned(long difference) {
        return difference >= 0 ? difference : difference + 0x1p64;
    }

    /** Writes the ids: each that is a number as the difference to the one before, others as text. */
    private void writeIds() throws IOException {
        json.writeArrayFieldStart("ids");
        long before = 0;
        for (final int block : blocks) {
            final String id = planned.ids().get(block);
            if (NUMBER.matcher(id).matches()) {
                final long number = Long.parseLong(id);
                json.writeNumber(number - before);
                before = number;
            } else {
                json.writeString(id);
            }
        }
        json.writeEndArray();
    }

    private Lifetime lifetime(int index) {
        return instance.lifetime(blocks[index]);
    }

    private void writeFacts() throws IOException {
        final Plan plan = planned.plan();
        json.writeArrayFieldStart("facts");
        writeFact(
                "needs",
                plan.height(),
                plan.isOptimal()
                        ? "the least possible"
                        : String.format(Locale.ROOT, "%.2f %% above the lower bound at most", 100 * plan.gap()));
        writeFact("lower bound", plan.lowerBound(), "no plan needs less");
        if (planned.capacity() > 0) {
            final long shortfall = plan.shortfall(planned.capacity());
            writeFact(
                    "capacity",
                    planned.capacity(),
                    plan.fits(planned.capacity())
                            ? "fits"
                            : shortfall > 0
                                    ? String.format(Locale.ROOT, "short by at least %,d bytes", shortfall)
                                    : "does not fit");
        }
        json.writeEndArray();
    }

    private void writeFact(String name, long bytes, String note) throws IOException {
        json.writeStartArray();
        json.writeString(name);
        writeUnsigned(bytes);
        json.writeString(note);
        json.writeEndArray();
    }

    private void writeColumn(String name, IntToLongFunction column) throws IOException {
        json.writeArrayFieldStart(name);
        for (int i = 0; i < blocks.length; i++) {
            writeUnsigned(column.applyAsLong(i));
        }
        json.writeEndArray();
    }

    private void writeField(String name, long value) throws IOException {
        json.writeFieldName(name);
        writeUnsigned(value);
    }

    /** Writes a number; times may be further apart than the range of a {@code long}. */
    private void writeUnsigned(long value) throws IOException {
        if (value >= 0 && value <= MOST_EXACT) {
            json.writeNumber(value);
        } else {
            json.writeString(Long.toUnsignedString(value));
        }
    }

    private static long gcd(long a, long b) {
        return b == 0 ? a : gcd(b, a % b);
    }
}
