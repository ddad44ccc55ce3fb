package allocator.cli;

import allocator.cli.output.Json;
import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.planner.Plan;
import java.util.Locale;

/**
 * What was planned.
 *
 * @param input the blocks
 * @param plan the offsets of all blocks
 * @param seconds how long it took
 * @param capacity the bytes that suffice; 0 if the least are wanted
 */
record PlanResult(PlanInput input, Plan plan, double seconds, long capacity) {
    /** Returns whether the question is answered with yes: the plan fits, or no plan needs less. */
    boolean isSolved() {
        return capacity == 0 ? plan.isOptimal() : plan.fits(capacity);
    }

    /** Returns why the question is not answered with yes. */
    String problem() {
        final String time = String.format(Locale.ROOT, "%.1f s", seconds);
        if (capacity == 0) {
            return input.name() + ": not proved to be the least within " + time + ": " + size(plan.height())
                    + " may exceed it by up to " + percent() + " (--seconds)";
        }
        final long shortfall = plan.shortfall(capacity);
        return shortfall > 0
                ? input.name() + ": no plan fits into " + size(capacity) + ": it is short by at least "
                        + size(shortfall)
                : input.name() + ": no plan within " + size(capacity) + " was found in " + time + "; the best needs "
                        + size(plan.height()) + ", and " + size(plan.lowerBound()) + " may be enough (--seconds)";
    }

    void print(Terminal terminal) {
        terminal.printHeading(input.name(), ", " + Sizes.exact(input.instance().size()) + " blocks");
        terminal.out().println();
        final TextTable table = new TextTable("  ", "lrrl")
                .row(
                        "needs",
                        Sizes.human(plan.height()),
                        Sizes.exact(plan.height()),
                        plan.isOptimal() ? "the least possible" : percent() + " above the lower bound at most")
                .row("lower bound", Sizes.human(plan.lowerBound()), Sizes.exact(plan.lowerBound()), "");
        if (input.groups().size() > 1) {
            table.row(
                    "live bytes, peak",
                    Sizes.human(input.livePeak()),
                    Sizes.exact(input.livePeak()),
                    input.groups().size() + " streams, which share no memory");
        }
        if (capacity > 0) {
            table.row("capacity", Sizes.human(capacity), Sizes.exact(capacity), isSolved() ? "fits" : "does not fit");
        }
        table.row("time", Sizes.time(seconds * 1e9), "", Sizes.exact(plan.steps()) + " steps");
        table.lines().forEach(terminal.out()::println);
    }

    String json() {
        return Json.write(json -> {
            json.writeStartObject();
            json.writeStringField("trace", input.name());
            json.writeNumberField("blocks", input.instance().size());
            json.writeNumberField("streams", input.groups().size());
            json.writeNumberField("height", plan.height());
            json.writeNumberField("lower_bound", plan.lowerBound());
            json.writeNumberField("gap", plan.gap());
            json.writeBooleanField("optimal", plan.isOptimal());
            if (capacity == 0) {
                json.writeNullField("capacity");
            } else {
                json.writeNumberField("capacity", capacity);
                json.writeBooleanField("fits", plan.fits(capacity));
                json.writeNumberField("shortfall", plan.shortfall(capacity));
            }
            json.writeNumberField("steps", plan.steps());
            json.writeNumberField("seconds", seconds);
            json.writeEndObject();
        });
    }

    private String percent() {
        return String.format(Locale.ROOT, "%.2f %%", 100 * plan.gap());
    }

    private static String size(long bytes) {
        return Sizes.human(bytes) + " (" + Sizes.exact(bytes) + " bytes)";
    }
}
