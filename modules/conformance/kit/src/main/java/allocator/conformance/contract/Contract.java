package allocator.conformance.contract;

import allocator.conformance.rules.Chapter;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The contract's numbered rules, read from {@code docs/contract.md}, which the build copies into the jar. */
public final class Contract {
    private static final Pattern CHAPTER = Pattern.compile("## ([A-Z]) — (.+)");
    private static final Pattern RULE = Pattern.compile("\\| ([A-Z]-\\d\\d) \\| \\*\\*(.+?)\\.\\*\\* (.+) \\|");
    private static final String PAGE = "/allocator/conformance/contract.md";
    private static final List<Chapter> CHAPTERS = read();

    /**
     * A chapter of the contract.
     *
     * @param letter such as {@code A}
     * @param title such as {@code Allocating and freeing}
     * @param rules in the order of their numbers
     */
    public record Chapter(String letter, String title, List<Rule> rules) {}

    /**
     * A rule.
     *
     * @param id such as {@code A-03}
     * @param title what it comes to, in one line
     * @param text the rule itself, in Markdown
     */
    public record Rule(String id, String title, String text) {}

    private Contract() {}

    public static List<Chapter> chapters() {
        return CHAPTERS;
    }

    public static List<Rule> rules() {
        return CHAPTERS.stream().flatMap(chapter -> chapter.rules().stream()).toList();
    }

    private static List<Chapter> read() {
        final List<Chapter> chapters = new ArrayList<>();
        try (InputStream page = Contract.class.getResourceAsStream(PAGE)) {
            if (page == null) {
                throw new IllegalStateException(PAGE + " is not in the jar");
            }
            new String(page.readAllBytes(), StandardCharsets.UTF_8).lines().forEach(line -> {
                final Matcher chapter = CHAPTER.matcher(line);
                if (chapter.matches()) {
                    chapters.add(new Chapter(chapter.group(1), chapter.group(2), new ArrayList<>()));
                }
                final Matcher rule = RULE.matcher(line);
                if (rule.matches()) {
                    chapters.getLast().rules().add(new Rule(rule.group(1), rule.group(2), rule.group(3)));
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return List.copyOf(chapters);
    }
}
