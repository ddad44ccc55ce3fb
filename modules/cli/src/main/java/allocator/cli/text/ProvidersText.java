package allocator.cli.text;

import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.runtime.ProviderDevice;
import allocator.runtime.ProviderReport;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.StringTokenizer;

/** Prints the providers for people to read: usable ones first; 80 columns wide. */
public final class ProvidersText {
    private static final int WIDTH = 80;

    private final Terminal terminal;
    private final PrintWriter out;
    private final boolean isVerbose;
    private final boolean isOneRequested;

    /**
     * Shows the options of usable providers, and of a provider requested by name.
     *
     * @param terminal where to print
     * @param isVerbose whether to print origins, and what each option is
     * @param isOneRequested whether a provider was requested by name
     */
    public ProvidersText(Terminal terminal, boolean isVerbose, boolean isOneRequested) {
        this.terminal = terminal;
        out = terminal.out();
        this.isVerbose = isVerbose;
        this.isOneRequested = isOneRequested;
    }

    /** Prints providers. */
    public void print(List<ListedProvider> found) {
        String separator = "";
        for (final ListedProvider provider : found) {
            out.print(separator);
            print(provider);
            separator = System.lineSeparator();
        }
    }

    private void print(ListedProvider provider) {
        final ProviderReport report = provider.report();
        terminal.printHeading(
                report.name(),
                (report.version().isEmpty() ? "" : " " + report.version())
                        + (report.vendor().isEmpty() ? "" : " by " + report.vendor()));
        if (!report.module().isEmpty()) {
            terminal.printDim("  module " + report.module());
        }
        if (report.priority() != 0) {
            terminal.printDim("  priority " + report.priority());
        }
        if (isVerbose && !report.origin().isEmpty()) {
            terminal.printDim("  from " + report.origin());
        }
        report.failure().ifPresent(failure -> printWrapped("  not used: ", failure));
        if (report.isRegistered() && provider.devices().isEmpty()) {
            out.println(report.devices().isEmpty() ? "  no device" : "  no such device");
        }
        report.notes().forEach(note -> printWrapped("  note: ", note));
        provider.devices().forEach(device -> print(provider, device));
        if (!provider.keys().isEmpty() && (isOneRequested || !provider.devices().isEmpty())) {
            printOptions(provider);
        }
    }

    private void print(ListedProvider provider, ProviderDevice device) {
        out.println();
        final String id = "  " + DeviceId.of(device) + "  ";
        final StringBuilder hardware =
                new StringBuilder(device.device().hardware().name());
        for (final Map.Entry<String, String> fact :
                device.device().hardware().metadata().entrySet()) {
            hardware.append(", ").append(fact.getKey()).append(' ').append(fact.getValue());
        }
        printWrapped(id, hardware.toString());
        final TextTable memories = new TextTable(" ".repeat(id.length()), "llll");
        for (final MemoryInfo memory : device.device().memoryInfos()) {
            memories.row(
                    memory.name(),
                    kind(memory),
                    "aligned to " + Sizes.human(memory.byteAlignment()),
                    provider.isServedByOther(memory)
                            ? "served by " + provider.servedBy().get(memory)
                            : "");
        }
        memories.lines().forEach(out::println);
    }

    /** Returns the kind of a memory. */
    static String kind(MemoryInfo memory) {
        if (memory.isReadOnly()) {
            return "read-only";
        }
        return memory.memoryType() == MemoryType.DEFAULT ? "default" : "host-accessible";
    }

    private void printOptions(ListedProvider provider) {
        out.println();
        final AllocatorOptions effective = provider.effective();
        final TextTable options = new TextTable("  ", "lrl").row("option", "value", "from");
        for (final OptionKey<?> key : provider.keys()) {
            options.row(key.name(), String.valueOf(effective.value(key.name())), effective.origin(key.name()));
        }
        final List<String> lines = options.lines();
        terminal.printDim(lines.getFirst());
        for (int i = 0; i < provider.keys().size(); i++) {
            out.println(lines.get(i + 1));
            if (isVerbose) {
                final OptionKey<?> key = provider.keys().get(i);
                printWrapped("      ", key.description() + "; accepts " + key.accepted());
            }
        }
    }

    /** Prints a text in lines with a hanging indent. */
    private void printWrapped(String start, String text) {
        final StringBuilder line = new StringBuilder(start);
        boolean isEmpty = true;
        final StringTokenizer words = new StringTokenizer(text);
        while (words.hasMoreTokens()) {
            final String word = words.nextToken();
            if (!isEmpty && line.length() + 1 + word.length() > WIDTH) {
                out.println(line);
                line.setLength(0);
                line.append(" ".repeat(start.length()));
                isEmpty = true;
            }
            line.append(isEmpty ? "" : " ").append(word);
            isEmpty = false;
        }
        out.println(line);
    }
}
