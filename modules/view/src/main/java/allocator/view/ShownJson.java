package allocator.view;

import allocator.view.page.ShownText;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.JsonGeneratorDelegate;
import java.io.IOException;

/** Writes the data of a page. All text of a page passes here, and is written as the page shows it. */
final class ShownJson extends JsonGeneratorDelegate {
    ShownJson(JsonGenerator target) {
        super(target);
    }

    @Override
    public void writeString(String text) throws IOException {
        super.writeString(ShownText.of(text));
    }
}
