package allocator.view;

import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.plan.Plan;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.Comparator;
import java.util.Locale;
import java.util.function.IntToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * The data of a plan's page as JSON. Numbers are kept short, as there may be hundreds of thousands of blocks: sizes and
 * offsets are in a common unit, each block's beginning is that since the block before, and so are ids that are numbers.
 * A number that JavaScript would round is written as text.
 */
final class PlanJson {
    /** Ids that JSON has as numbers, without a loss. */
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,14}");

    /** The largest number up to which JavaScript has all. */
    private static final long MOST_EXACT = (1L << 53) - 1;

    private final JsonGenerator json;
    private final PlannedBlocks planned;
    private final Instance instance;

    /** The blocks that are shown, by the beginning of their lives. */
    private final int[] blocks;

    private PlanJson(JsonGenerator json, PlannedBlocks planned) {
        this.json = json;
        this.planned = planned;
        instance = planned.instance();
        blocks = IntStream.range(0, instance.size())
                .filter(block -> !instance.lifetime(block).isEmpty())
                .boxed()
                .sorted(Comparator.comparingLong(
                        block -> instance.lifetime(block).lower()))
                .mapToInt(Integer::intValue)
                .toArray();
    }

    static String of(String name, PlannedBlocks planned) {
        return PageJson.write(json -> {
            json.writeStringField("title", name);
            json.writeStringField("kind", "plan");
            json.writeStringField("subtitle", planned.subtitle());
            json.writeNumberField("first", 0);
            json.writeArrayFieldStart("series");
            json.writeEndArray();
            json.writeArrayFieldStart("maps");
            json.writeEndArray();
            json.writeObjectFieldStart("plan");
            new PlanJson(json, planned).write();
            json.writeEndObject();
        });
    }

    private void write() throws IOException {
        final long start = blocks.length == 0 ? 0 : lifetime(0).lower();
        long end = start;
        long unit = 0;
        for (int i = 0; i < blocks.length; i++) {
            end = Math.max(end, lifetime(i).upper());
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
        writeIds();
        writeColumn(
                "since",
                i -> lifetime(i).lower() - (i == 0 ? start : lifetime(i - 1).lower()));
        writeColumn("life", i -> lifetime(i).upper() - lifetime(i).lower());
        writeColumn("size", i -> lifetime(i).byteSize() / divisor);
        writeColumn("offset", i -> planned.plan().offset(blocks[i]) / divisor);
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
