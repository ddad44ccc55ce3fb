package allocator.conformance;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The numbered rules, read from the page that people read, which the build puts beside this class. */
final class Contract {
    private static final Pattern CHAPTER = Pattern.compile("## ([A-Z]) — (.+)");
    private static final Pattern RULE = Pattern.compile("\\| ([A-Z]-\\d\\d) \\| (.+) \\|");
    private static final List<Chapter> CHAPTERS = read();

    /**
     * Rules that belong together.
     *
     * @param letter such as {@code A}
     * @param title such as {@code Allocating and freeing}
     * @param rules in order of their numbers
     */
    record Chapter(String letter, String title, List<Rule> rules) {}

    /**
     * A rule.
     *
     * @param id such as {@code A-03}
     * @param text what it says, in Markdown
     */
    record Rule(String id, String text) {}

    private Contract() {}

    static List<Chapter> chapters() {
        return CHAPTERS;
    }

    static List<Rule> rules() {
        return CHAPTERS.stream().flatMap(chapter -> chapter.rules().stream()).toList();
    }

    static Optional<Rule> rule(String id) {
        return rules().stream().filter(rule -> rule.id().equals(id)).findFirst();
    }

    private static List<Chapter> read() {
        final List<Chapter> chapters = new ArrayList<>();
        try (InputStream page = Contract.class.getResourceAsStream("contract.md")) {
            if (page == null) {
                throw new IllegalStateException("contract.md is not beside " + Contract.class.getName());
            }
            new String(page.readAllBytes(), StandardCharsets.UTF_8).lines().forEach(line -> {
                final Matcher chapter = CHAPTER.matcher(line);
                if (chapter.matches()) {
                    chapters.add(new Chapter(chapter.group(1), chapter.group(2), new ArrayList<>()));
                }
                final Matcher rule = RULE.matcher(line);
                if (rule.matches()) {
                    chapters.getLast().rules().add(new Rule(rule.group(1), rule.group(2)));
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return List.copyOf(chapters);
    }
}
