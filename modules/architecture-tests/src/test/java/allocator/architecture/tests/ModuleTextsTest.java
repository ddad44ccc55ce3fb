package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The descriptor of every module is committed under {@code docs/modules}, so that no edge of the graph arrives unseen.
 *
 * <p>{@code ./mvnw verify -Dupdate.module.texts=true} writes the texts; review the diff.
 */
class ModuleTextsTest {
    private static final Path TEXTS = ReactorModule.ROOT.resolve("docs/modules");

    static List<ModuleDescriptor> modules() {
        return ReactorModule.descriptors();
    }

    @ParameterizedTest
    @MethodSource("modules")
    void theCommittedTextDescribesTheBuiltModule(ModuleDescriptor module) throws IOException {
        Path file = text(module);
        String built = ModuleText.of(module);
        if (Boolean.getBoolean("update.module.texts")) {
            Files.writeString(file, built);
        }
        assertThat(file)
                .as("commit this text as %s, or run with -Dupdate.module.texts=true:%n%s", file, built)
                .exists()
                .hasContent(built);
    }

    @Test
    void everyCommittedTextBelongsToAModule() throws IOException {
        try (var files = Files.newDirectoryStream(TEXTS, "*.txt")) {
            assertThat(files)
                    .isSubsetOf(modules().stream().map(ModuleTextsTest::text).toList());
        }
    }

    private static Path text(ModuleDescriptor module) {
        return TEXTS.resolve(module.name() + ".txt");
    }
}
