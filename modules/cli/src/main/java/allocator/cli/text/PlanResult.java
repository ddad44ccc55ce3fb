package allocator.cli.text;

import allocator.cli.output.Json;
import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.plan.Plan;
import java.util.Locale;

/**
 * What was planned.
 *
 * @param name the name of the file or trace
 * @param blocks the number of blocks
 * @param reserves the number of reserves, which are no blocks of a plan
 * @param streams the number of streams, which share no memory
 * @param livePeak the most bytes that live at once, of all streams together
 * @param plan the offsets of all blocks
 * @param seconds how long it took
 * @param capacity the bytes that suffice; 0 if the least are wanted
 */
public record PlanResult(
        String name, int blocks, int reserves, int streams, long livePeak, Plan plan, double seconds, long capacity) {
    /** {@return whether the plan fits, or no plan needs less} */
    public boolean isSolved() {
        return capacity == 0 ? plan.isOptimal() : plan.fits(capacity);
    }

    /** {@return why the question is not answered with yes, in one line} */
    public String problem() {
        final String time = String.format(Locale.ROOT, "%.1f s", seconds);
        if (capacity == 0) {
            return name + ": not proved to be the least within " + time + ": " + size(plan.height())
                    + " may exceed it by up to " + percent() + " (--seconds)";
        }
        final long shortfall = plan.shortfall(capacity);
        return shortfall > 0
                ? name + ": no plan fits into " + size(capacity) + ": it is short by at least " + size(shortfall)
                : name + ": no plan within " + size(capacity) + " was found in " + time + "; the best needs "
                        + size(plan.height()) + ", and " + size(plan.lowerBound()) + " may be enough" + " (--seconds)";
    }

    /** {@return what was planned and how, in one line, for the head of a page} */
    public String subtitle() {
        return Sizes.count(blocks, "block")
                + (streams > 1 ? " of " + streams + " streams, which share no memory" : "")
                + ", planned in " + Sizes.time(seconds * 1e9) + " with " + Sizes.exact(plan.steps()) + " steps";
    }

    /** Prints the result; 80 columns wide. */
    public void print(Terminal terminal) {
        terminal.printHeading(name, ", " + Sizes.count(blocks, "block"));
        terminal.out().println();
        final TextTable table = new TextTable("  ", "lrrl")
                .row(
                        "needs",
                        Sizes.human(plan.height()),
                        Sizes.exact(plan.height()),
                        plan.isOptimal() ? "the least possible" : percent() + " above the lower bound at most")
                .row("lower bound", Sizes.human(plan.lowerBound()), Sizes.exact(plan.lowerBound()), "");
        if (streams > 1) {
            table.row(
                    "live bytes, peak",
                    Sizes.human(livePeak),
                    Sizes.exact(livePeak),
                    streams + " streams, which share no memory");
        }
        if (capacity > 0) {
            table.row("capacity", Sizes.human(capacity), Sizes.exact(capacity), isSolved() ? "fits" : "does not fit");
        }
        if (reserves > 0) {
            table.row("reserves", "", Sizes.exact(reserves), "left out: an arena serves them elsewhere");
        }
        table.row("time", Sizes.time(seconds * 1e9), "", Sizes.exact(plan.steps()) + " steps");
        table.lines().forEach(terminal.out()::println);
    }

    /** {@return the result as one object of JSON; names of fields are stable} */
    public String json() {
        final Json json = new Json()
                .put("trace", name)
                .put("blocks", blocks)
                .put("reserves", reserves)
                .put("streams", streams)
                .put("height", plan.height())
                .put("lower_bound", plan.lowerBound())
                .put("gap", plan.gap())
                .put("optimal", plan.isOptimal())
                .put("capacity", capacity == 0 ? null : capacity);
        if (capacity != 0) {
            json.put("fits", plan.fits(capacity)).put("shortfall", plan.shortfall(capacity));
        }
        return Json.text(json.put("steps", plan.steps()).put("seconds", seconds));
    }

    private String percent() {
        return String.format(Locale.ROOT, "%.2f %%", 100 * plan.gap());
    }

    private static String size(long bytes) {
        return Sizes.human(bytes) + " (" + Sizes.exact(bytes) + " bytes)";
    }
}
