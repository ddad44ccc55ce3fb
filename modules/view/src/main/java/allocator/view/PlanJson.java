package allocator.view;

import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.plan.Plan;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.math.BigInteger;
import java.util.Comparator;
import java.util.Locale;
import java.util.function.IntToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * The data of a plan's page as JSON. Numbers are kept short, as there may be hundreds of thousands of blocks: sizes and
 * offsets are in a common unit, and each block's beginning is that since the block before.
 */
final class PlanJson {
    /** Ids that JSON has as numbers, without a loss. */
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,14}");

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
        json.writeNumberField("height", planned.plan().height());
        json.writeNumberField("bound", planned.plan().lowerBound());
        json.writeNumberField("capacity", planned.capacity());
        json.writeNumberField("unit", divisor);
        json.writeStringField("start", Long.toString(start));
        json.writeFieldName("span");
        writeUnsigned(end - start);
        writeFacts();
        json.writeArrayFieldStart("ids");
        for (final int block : blocks) {
            final String id = planned.ids().get(block);
            if (NUMBER.matcher(id).matches()) {
                json.writeNumber(Long.parseLong(id));
            } else {
                json.writeString(id);
            }
        }
        json.writeEndArray();
        writeColumn(
                "since",
                i -> lifetime(i).lower() - (i == 0 ? start : lifetime(i - 1).lower()));
        writeColumn("life", i -> lifetime(i).upper() - lifetime(i).lower());
        writeColumn("size", i -> lifetime(i).byteSize() / divisor);
        writeColumn("offset", i -> planned.plan().offset(blocks[i]) / divisor);
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
        json.writeNumber(bytes);
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

    /** Times may be further apart than the range of a {@code long}. */
    private void writeUnsigned(long value) throws IOException {
        if (value >= 0) {
            json.writeNumber(value);
        } else {
            json.writeNumber(new BigInteger(Long.toUnsignedString(value)));
        }
    }

    private static long gcd(long a, long b) {
        return b == 0 ? a : gcd(b, a % b);
    }
}
