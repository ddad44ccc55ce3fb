package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * The picture of the module graph agrees with the compiled descriptors.
 *
 * <p>{@code ./mvnw verify -Dupdate.module.texts=true} draws it again.
 */
class ModuleGraphTest {
    private static final Pattern PICTURE = Pattern.compile("(?s)(?<=<!-- graph -->\n).*?(?=<!-- /graph -->)");

    @Test
    void thePictureShowsTheRequiresOfAllModules() throws IOException {
        final String page = "docs/modules/README.md";
        final Path file = ReactorModule.ROOT.resolve(page);
        final String drawn = ModuleGraph.of(ReactorModule.descriptors()) + "\n";
        final String text = Files.readString(file);
        if (Boolean.getBoolean("update.module.texts")) {
            Files.writeString(file, PICTURE.matcher(text).replaceFirst(Matcher.quoteReplacement(drawn)));
        }
        final Matcher picture = PICTURE.matcher(Files.readString(file));
        assertThat(picture.find()).as("%s has a picture of the modules", page).isTrue();
        assertThat(picture.group())
                .as("commit this picture in %s, or run with -Dupdate.module.texts=true", page)
                .isEqualTo(drawn);
    }
}
