package allocator.runtime.discovery;

import java.io.IOException;
import java.nio.file.Path;

/** Modules that are no providers, and one that needs another. */
record LibraryJar(Path work) {
    void pack(Path jar) throws IOException {
        packNamed("library", jar);
    }

    /** A module of any name with one class. */
    void packNamed(String module, Path jar) throws IOException {
        ProviderJar.empty(module)
                .source("module-info.java", "module " + module + " { exports library; }")
                .source("library/Tool.java", "package library; public class Tool {}")
                .pack(work, jar);
    }

    /** A provider that requires the module {@code library}. */
    void packNeedy(Path library, Path jar) throws IOException {
        ProviderJar.good("needy", "Needy")
                .source(
                        "module-info.java",
                        "module needy { requires java.allocator.spi; requires library;"
                                + " provides allocator.spi.EpFactory with needy.Factory; }")
                .requiring(library)
                .pack(work, jar);
    }
}
