package allocator.view.page;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.List;
import java.util.Objects;

/**
 * Puts data, style and script into one file. The file may only run this script and use this style: its content policy
 * names their hashes, so that a hostile name in the data could not run anything even if it were not escaped.
 */
public final class PageTemplate {
    private static final List<String> SCRIPTS = List.of("text.js", "timeline.js", "map.js", "plan.js", "page.js");

    private PageTemplate() {}

    /** Fills the template with a title, any text, and data, valid JSON. */
    public static String fill(String title, String json) {
        final String style = read("page.css");
        final StringBuilder script = new StringBuilder();
        SCRIPTS.forEach(name -> script.append(read(name)));
        final String template = read("page.html");
        final StringBuilder page = new StringBuilder(template.length() + json.length() + (1 << 16));
        int from = 0;
        for (int open = template.indexOf("{{"); open >= 0; open = template.indexOf("{{", from)) {
            final int close = template.indexOf("}}", open);
            page.append(template, from, open);
            page.append(
                    switch (template.substring(open + 2, close)) {
                        case "title" -> escape(ShownText.of(title));
                        case "style" -> style;
                        case "script" -> script;
                        case "styleHash" -> hash(style);
                        case "scriptHash" -> hash(script.toString());
                        // In JSON these characters occur within texts only, which may have escapes.
                        case "data" ->
                            json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026");
                        default -> throw new IllegalStateException(template.substring(open, close));
                    });
            from = close + 2;
        }
        return page.append(template, from, template.length()).toString();
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }

    private static String hash(String text) {
        try {
            final byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return "sha256-" + Base64.getEncoder().encodeToString(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String read(String name) {
        try (InputStream in = Objects.requireNonNull(PageTemplate.class.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
