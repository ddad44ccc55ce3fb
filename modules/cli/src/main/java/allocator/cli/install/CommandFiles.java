package allocator.cli.install;

import allocator.cli.Main;
import allocator.cli.output.Terminal;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.AutoComplete;
import picocli.CommandLine;

/** Writes the files that an installed command has beside it: completion for shells, and the manual page. */
public final class CommandFiles {
    private CommandFiles() {}

    /**
     * Writes them.
     *
     * @param args the file for bash and zsh, and the manual page
     * @throws IOException if one cannot be written
     */
    public static void main(String[] args) throws IOException {
        final CommandLine command = command();
        Files.writeString(Path.of(args[0]), AutoComplete.bash(command.getCommandName(), command));
        Files.writeString(Path.of(args[1]), ManualPage.of(command));
    }

    /** Returns the command, to be read and not run. */
    static CommandLine command() {
        final PrintWriter nowhere = new PrintWriter(new StringWriter());
        return Main.commandLine(Terminal.of(nowhere, nowhere));
    }
}
