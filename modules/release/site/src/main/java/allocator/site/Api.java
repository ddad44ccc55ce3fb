package allocator.site;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;

/**
 * Runs the JDK's javadoc once over the sources of all published modules, so that one search finds all of their API.
 *
 * @param work a folder for files between, in which {@code modules.path} and {@code others.path} list libraries
 */
record Api(Checkout checkout, Path work) {
    void write(Path folder) throws IOException {
        final List<PublishedModule> modules = PublishedModule.in(checkout);
        final List<String> arguments = new ArrayList<>(List.of(
                "-quiet",
                "-notimestamp",
                "-encoding",
                "UTF-8",
                "-Xdoclint:all,-missing",
                "-Werror",
                "--no-fonts",
                "--syntax-highlight",
                "-d",
                folder.toString(),
                "-windowtitle",
                "java.allocator " + checkout.version(),
                "-doctitle",
                "java.allocator " + checkout.version(),
                "-header",
                "<a class=\"site\" href=\"{@docRoot}/../index.html\">java.allocator</a>",
                "--add-stylesheet",
                stylesheet().toString(),
                "-tag",
                "apiNote:a:API Note:",
                "-tag",
                "implSpec:a:Implementation Requirements:",
                "-tag",
                "implNote:a:Implementation Note:",
                "--module-path",
                libraries("modules.path"),
                "--class-path",
                libraries("others.path"),
                "--module",
                modules.stream().map(PublishedModule::name).collect(Collectors.joining(","))));
        for (final PublishedModule module : modules) {
            String sources = module.sources().toString();
            if (!module.hasDescriptor()) {
                sources += File.pathSeparator + writeDescriptor(module);
                arguments.addAll(List.of("--add-reads", module.name() + "=ALL-UNNAMED"));
            }
            arguments.addAll(List.of("--module-source-path", module.name() + "=" + sources));
        }
        final int code = ToolProvider.findFirst("javadoc")
                .orElseThrow()
                .run(System.out, System.err, arguments.toArray(String[]::new));
        if (code != 0) {
            throw new IllegalStateException("javadoc ended with " + code + "; its messages are above");
        }
        withoutFonts(folder.resolve("resource-files/stylesheet.css"));
    }

    /** A module of the class path is documented by the name that its jar has on a module path. */
    private Path writeDescriptor(PublishedModule module) throws IOException {
        final Path folder = work.resolve(module.name());
        Files.createDirectories(folder);
        Files.writeString(folder.resolve("module-info.java"), module.descriptor());
        return folder;
    }

    /** JDK 25 imports the style sheet of its fonts also where {@code --no-fonts} leaves it out. */
    private static void withoutFonts(Path stylesheet) throws IOException {
        Files.writeString(stylesheet, Files.readString(stylesheet).replace("@import url('fonts/dejavu.css');\n", ""));
    }

    private Path stylesheet() throws IOException {
        return Files.writeString(work.resolve("api.css"), Site.resource("api.css"));
    }

    private String libraries(String file) throws IOException {
        return Files.readString(work.resolve(file)).strip();
    }
}
