package allocator.conformance.exam;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A small change of a right provider, which makes it wrong, or unusual but still right.
 *
 * @param provider the name of the provider
 * @param id the name of the edit, unlike any other of that provider
 * @param isWrong whether the edited provider breaks the contract
 * @param rules the rules that it breaks, any of which the kit may name
 * @param why what is wrong or unusual, in words
 * @param changes the changes of its sources
 */
record Edit(String provider, String id, boolean isWrong, List<String> rules, String why, List<Change> changes) {
    /**
     * The replacement of a text that a source holds exactly once.
     *
     * @param file the name of the source
     * @param before the text; empty if the source is new
     * @param after what takes its place
     */
    record Change(String file, String before, String after) {}

    Edit {
        rules = List.copyOf(rules);
        changes = List.copyOf(changes);
    }

    /** Returns the edit's name together with the provider's. */
    String name() {
        return provider + "/" + id;
    }

    /**
     * Reads the edits of a provider.
     *
     * @param text lines that begin with {@code @wrong} or {@code @unusual}, {@code @rule}, {@code @why}, and
     *     {@code @in}, {@code @old}, {@code @new} for each change, up to {@code @end}; other lines outside an edit are
     *     comments
     * @throws IllegalArgumentException if an edit is not written like that
     */
    static List<Edit> parse(String provider, String text) {
        return new Parser(provider).parse(text);
    }

    /** Reads line by line. */
    private static final class Parser {
        private final String provider;
        private final List<Edit> edits = new ArrayList<>();
        private String id = "";
        private boolean isWrong;
        private List<String> rules = List.of();
        private final StringBuilder why = new StringBuilder();
        private final List<Change> changes = new ArrayList<>();
        private String file = "";
        private final StringBuilder before = new StringBuilder();
        private final StringBuilder after = new StringBuilder();

        /** Receives the lines that follow a mark. */
        private StringBuilder part = why;

        private boolean isChange;
        private boolean isAfter;

        Parser(String provider) {
            this.provider = provider;
        }

        List<Edit> parse(String text) {
            text.lines().forEach(this::line);
            if (!id.isEmpty()) {
                throw new IllegalArgumentException(provider + "/" + id + " has no @end");
            }
            return List.copyOf(edits);
        }

        private void line(String line) {
            final String mark = line.split(" ", 2)[0];
            final String rest = line.substring(mark.length()).strip();
            switch (mark) {
                case "@wrong", "@unusual" -> begin(rest, mark.equals("@wrong"));
                case "@rule" ->
                    rules = Arrays.stream(rest.split("[\\s,]+", -1))
                            .filter(rule -> !rule.isEmpty())
                            .toList();
                case "@why" -> why.append(rest);
                case "@in" -> {
                    endChange();
                    file = rest;
                    isChange = true;
                    part = before;
                }
                case "@old" -> {
                    if (isAfter) {
                        endChange();
                        isChange = true;
                    }
                    part = before;
                }
                case "@new" -> {
                    part = after;
                    isAfter = true;
                }
                case "@end" -> end();
                default -> {
                    if (isChange) {
                        part.append(line).append('\n');
                    } else if (!id.isEmpty()) {
                        why.append(' ').append(line.strip());
                    }
                }
            }
        }

        private void begin(String name, boolean wrong) {
            if (!id.isEmpty() || name.isEmpty()) {
                throw new IllegalArgumentException(provider + "/" + id + " has no @end before '" + name + "'");
            }
            id = name;
            isWrong = wrong;
        }

        private void endChange() {
            if (isChange) {
                changes.add(new Change(file, withoutLastBreak(before), withoutLastBreak(after)));
            }
            isChange = false;
            isAfter = false;
            part = why;
            before.setLength(0);
            after.setLength(0);
        }

        /** Texts end where their last line does, so that one may be a part of a line. */
        private static String withoutLastBreak(StringBuilder lines) {
            return lines.isEmpty() ? "" : lines.substring(0, lines.length() - 1);
        }

        private void end() {
            endChange();
            if (id.isEmpty() || changes.isEmpty() || (isWrong && rules.isEmpty())) {
                throw new IllegalArgumentException(
                        provider + "/" + id + " needs a name, a change and, if it is wrong, a rule");
            }
            edits.add(new Edit(provider, id, isWrong, rules, why.toString().strip(), changes));
            id = "";
            rules = List.of();
            why.setLength(0);
            changes.clear();
        }
    }
}
