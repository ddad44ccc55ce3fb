package allocator.testkit.browser;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of pages in Chromium of the path. The property {@value Chromium#REQUIRED} makes a skip a failure. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(600)
public abstract class InChromium {
    protected static final Path PICTURES = Path.of("target", "pictures");

    protected Chromium chromium;

    @BeforeAll
    void startChromium(@TempDir Path profile) throws Exception {
        chromium = Chromium.start(Files.createDirectory(profile.resolve("profile")));
    }

    @AfterAll
    void stopChromium() {
        if (chromium != null) {
            chromium.close();
        }
    }

    @BeforeEach
    void showAll() {
        chromium.show(1280, 900, false);
    }

    protected String text(String selector) {
        return chromium.evaluate("document.querySelector('" + selector + "').textContent");
    }

    /** Returns how many colours a canvas has. */
    protected int colours(String selector) {
        return Integer.parseInt(chromium.evaluate("(c => new Set(new Uint32Array(c.getContext('2d')"
                + ".getImageData(0, 0, c.width, c.height).data.buffer)).size)(document.querySelector('"
                + selector + "'))"));
    }
}
