package allocator.cli;

import allocator.cli.output.Json;
import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.cli.text.PlanResult;
import allocator.plan.Plan;
import allocator.plan.PlanCheck;
import allocator.plan.PlanFile;
import allocator.plan.PlanFileException;
import allocator.planner.Planner;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import allocator.view.Page;
import allocator.view.PlannedBlocks;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.TypeConversionException;

/** Plans the memory of a trace. */
@Command(
        name = "plan",
        optionListHeading = "%n",
        header = "Plans memory from lifetimes: fixed offsets in as little memory as possible.",
        footer = {
            "",
            "A trace's offsets are multiples of 256 bytes. Its streams share no memory, as a",
            "trace does not say when one waits for another. A file of blocks is CSV with the",
            "columns id,lower,upper,size and optionally alignment.",
            "",
            "The best plan so far is shown and written in every case.",
            "",
            "Exit codes: 0 the plan fits the capacity, or is proved to be the least, or with",
            "--check is valid; 1 it does not, or is not, or the file cannot be read; 2 wrong",
            "usage."
        })
final class PlanCommand extends ResultCommand {
    @Parameters(paramLabel = "TRACE", description = "A trace, the name of a bundled trace, or a file of blocks.")
    private String trace = "";

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description =
                    "Write the plan to this file, as CSV with the columns id,lower,upper,size,offset, and alignment"
                            + " before the offset if a block has one above 1; a trace's blocks have the numbers of"
                            + " their allocations, from 0. An existing file is replaced.")
    private @Nullable Path output;

    @Option(
            names = "--html",
            paramLabel = "FILE",
            description = "Also write a page that shows the plan: time across, offset up. It needs no network.")
    private @Nullable Path html;

    @Option(
            names = "--capacity",
            paramLabel = "BYTES",
            converter = Size.class,
            description = "Accept every plan within this many bytes, such as 64m or 1GiB. Default: the least possible.")
    private @Nullable Long capacity;

    @Option(
            names = "--seconds",
            paramLabel = "S",
            description = "Search no longer than this; the first pass is always made. Default: 30.")
    private double seconds = 30;

    @Option(
            names = "--check",
            description = "Plan nothing: check the offsets of a file of blocks, and show its height and its load.")
    private boolean isCheck;

    /** Reads a size as options of providers are read. */
    static final class Size implements ITypeConverter<Long> {
        private static final OptionKey<Long> KEY = OptionKey.bytes("size", 0, "a size of memory");

        @Override
        public Long convert(String text) {
            try {
                return KEY.parse(text, "the command line");
            } catch (InvalidOptionException e) {
                throw new TypeConversionException(String.valueOf(e.getMessage()));
            }
        }
    }

    PlanCommand(Terminal terminal) {
        super(terminal);
    }

    @Override
    public Integer call() {
        if (capacity != null && capacity < 1) {
            throw new UsageException("--capacity " + capacity + ": is less than 1");
        }
        if (!(seconds >= 0 && seconds <= Integer.MAX_VALUE)) {
            throw new UsageException("--seconds " + seconds + ": is not from 0 to " + Integer.MAX_VALUE);
        }
        final OutputFile json = jsonOutput();
        final OutputFile file = outputFile("--output", output);
        final OutputFile page = outputFile("--html", html);
        requireNoOutput(trace);
        if (isCheck) {
            return check(json);
        }
        final PlanInput input = PlanInput.read(InputFile.of(trace), terminal());
        final PlanResult result = plan(input);
        show(() -> result.print(terminal()), result::json, json);
        write(file, "written: ", () -> PlanFile.text(input.ids(), input.instance(), result.plan()));
        write(page, "page written: ", () -> Page.of(input.name(), picture(input, result)));
        if (!result.isSolved()) {
            throw new CommandException(result.problem());
        }
        return 0;
    }

    private int check(@Nullable OutputFile json) {
        if (output != null || html != null || capacity != null) {
            throw new UsageException("--check makes no plan: it takes neither --output, --html nor --capacity");
        }
        final PlanFile file;
        try {
            file = PlanFile.read(Path.of(InputFile.of(trace)));
        } catch (InvalidPathException e) {
            throw new UsageException(trace + ": " + e.getReason(), e);
        } catch (PlanFileException e) {
            throw new CommandException(e.getMessage(), e);
        }
        if (!file.hasOffsets()) {
            throw new CommandException(trace + ": has no column offset, so there is no plan to check");
        }
        final PlanCheck check = PlanCheck.of(
                file.ids(),
                file.instance(),
                IntStream.range(0, file.ids().size()).mapToLong(file::offset).toArray());
        show(
                () -> new TextTable("  ", "lrr")
                        .row("height", Sizes.human(check.height()), Sizes.exact(check.height()))
                        .row("load", Sizes.human(check.load()), Sizes.exact(check.load()))
                        .row("blocks", "", Sizes.exact(file.ids().size()))
                        .lines()
                        .forEach(out()::println),
                () -> Json.text(new Json()
                        .put("blocks", file.ids().size())
                        .put("valid", check.fault().isEmpty())
                        .put("height", check.height())
                        .put("load", check.load())
                        .put("fault", check.fault().orElse(null))),
                json);
        check.fault().ifPresent(fault -> {
            throw new CommandException(trace + ": no valid plan: " + fault);
        });
        return 0;
    }

    private void write(@Nullable OutputFile file, String message, Supplier<String> text) {
        if (file != null) {
            file.write(text.get());
            if (!isJsonOnly()) {
                out().println();
                out().println(message + file.path());
                out().flush();
            }
        }
    }

    private static PlannedBlocks picture(PlanInput input, PlanResult result) {
        return new PlannedBlocks(result.subtitle(), input.ids(), input.instance(), result.plan(), result.capacity());
    }

    private PlanResult plan(PlanInput input) {
        final long start = System.nanoTime();
        final long limit = (long) (seconds * 1e9);
        final int groups = input.groups().size();
        final List<Plan> plans = new ArrayList<>();
        try {
            for (int group = 0; group < groups; group++) {
                final long left = Math.max(0, limit - (System.nanoTime() - start)) / (groups - group);
                final Planner.Builder builder = Planner.builder().timeLimit(Duration.ofNanos(left));
                if (capacity != null && groups == 1) {
                    builder.capacity(capacity);
                }
                plans.add(builder.build().plan(input.group(group)));
            }
            final Plan plan = groups == 1 ? plans.getFirst() : Plan.stacked(input.instance(), input.groups(), plans);
            final double took = (System.nanoTime() - start) / 1e9;
            return new PlanResult(
                    input.name(),
                    input.instance().size(),
                    input.reserves(),
                    groups,
                    input.livePeak(),
                    plan,
                    took,
                    capacity == null ? 0 : capacity);
        } catch (IllegalArgumentException e) {
            throw new CommandException(input.name() + ": " + e.getMessage(), e);
        }
    }
}
