package allocator.cli.install;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/** The manual page of a command and of those below it, in the language of man(7), from the texts of its help. */
final class ManualPage {
    private final StringBuilder page = new StringBuilder();

    private ManualPage() {}

    static String of(CommandLine command) {
        final ManualPage manual = new ManualPage();
        final CommandSpec spec = command.getCommandSpec();
        manual.line(".TH " + spec.name().toUpperCase(Locale.ROOT) + " 1");
        manual.line(".SH NAME");
        manual.line(escape(spec.name() + " - " + joined(spec.usageMessage().header())));
        manual.line(".SH SYNOPSIS");
        manual.line(".B " + escape(spec.name()));
        manual.line(escape("[COMMAND] [OPTION...] [ARGUMENT...]"));
        manual.line(".SH DESCRIPTION");
        manual.paragraphs(spec.usageMessage().footer());
        manual.line(".SH OPTIONS");
        manual.options(spec);
        manual.line(".SH COMMANDS");
        manual.commands(spec);
        return manual.page.toString();
    }

    private void commands(CommandSpec parent) {
        // One that has several names is in the map under each of them.
        final Set<CommandLine> below = new LinkedHashSet<>(parent.subcommands().values());
        for (final CommandLine command : below) {
            final CommandSpec spec = command.getCommandSpec();
            line(".SS " + escape(spec.qualifiedName()));
            line(escape(joined(spec.usageMessage().header())));
            for (final PositionalParamSpec parameter : spec.positionalParameters()) {
                line(".TP");
                line(".I " + escape(parameter.paramLabel()));
                line(escape(joined(parameter.description())));
            }
            options(spec);
            paragraphs(spec.usageMessage().footer());
            commands(spec);
        }
    }

    private void options(CommandSpec spec) {
        for (final OptionSpec option : spec.options()) {
            if (!option.hidden()) {
                line(".TP");
                line(".B "
                        + escape(String.join(", ", List.of(option.names()))
                                + (option.arity().max() == 0 ? "" : " " + option.paramLabel())));
                line(escape(joined(option.description())));
            }
        }
    }

    /** Adds lines as they are; an empty one begins a paragraph. */
    private void paragraphs(String... lines) {
        for (final String text : lines) {
            if (text.isEmpty()) {
                line(".PP");
            } else {
                line(escape(plain(text)));
            }
        }
    }

    private void line(String text) {
        page.append(text).append('\n');
    }

    private static String joined(String... lines) {
        return plain(String.join(" ", lines));
    }

    /** Returns a text of the help without its markup. */
    private static String plain(String text) {
        return Ansi.OFF.string(text.replace("%n", " ").replace("%%", "%"));
    }

    /** Returns a line that man prints as it is: hyphens are those of the keyboard, and no line is a request. */
    static String escape(String text) {
        final String line = text.replace("\\", "\\e").replace("-", "\\-");
        return line.startsWith(".") || line.startsWith("'") ? "\\&" + line : line;
    }
}
