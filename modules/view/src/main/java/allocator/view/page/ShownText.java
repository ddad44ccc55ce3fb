package allocator.view.page;

/**
 * Text of any origin as a page shows it. Characters that have no picture, or that turn the direction of what is around
 * them, become escapes such as {@code \u202e}; so does half a surrogate pair, which no file in UTF-8 can hold. Words
 * that are written from right to left are isolated, so that figures beside them stay where they are.
 */
public final class ShownText {
    private static final String ISOLATE = "\u2068";
    private static final String END_OF_ISOLATE = "\u2069";

    private ShownText() {}

    /** Returns a text without control and format characters other than those that isolate, and without half a pair. */
    public static String of(String text) {
        return isPlain(text) ? text : isolated(escaped(text));
    }

    private static boolean isPlain(String text) {
        return text.chars().allMatch(c -> c >= ' ' && c <= '~');
    }

    private static String escaped(String text) {
        final StringBuilder shown = new StringBuilder();
        text.codePoints().forEach(c -> {
            if (isHidden(c)) {
                for (final char unit : Character.toChars(c)) {
                    shown.append(String.format("\\u%04x", (int) unit));
                }
            } else {
                shown.appendCodePoint(c);
            }
        });
        return shown.toString();
    }

    private static boolean isHidden(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
    }

    /** Isolates each run of words from right to left: from the first letter to the last, with what is between them. */
    private static String isolated(String text) {
        final StringBuilder shown = new StringBuilder();
        int from = 0;
        for (int at = 0; at < text.length(); ) {
            if (isRightToLeft(text.codePointAt(at))) {
                final int end = endOfRun(text, at);
                shown.append(text, from, at)
                        .append(ISOLATE)
                        .append(text, at, end)
                        .append(END_OF_ISOLATE);
                from = end;
                at = end;
            } else {
                at += Character.charCount(text.codePointAt(at));
            }
        }
        return shown.append(text, from, text.length()).toString();
    }

    private static int endOfRun(String text, int start) {
        int end = start;
        for (int at = start; at < text.length(); ) {
            final int c = text.codePointAt(at);
            at += Character.charCount(c);
            if (isRightToLeft(c) || Character.getDirectionality(c) == Character.DIRECTIONALITY_NONSPACING_MARK) {
                end = at;
            } else if (c != ' ') {
                break;
            }
        }
        return end;
    }

    private static boolean isRightToLeft(int c) {
        final byte direction = Character.getDirectionality(c);
        return direction == Character.DIRECTIONALITY_RIGHT_TO_LEFT
                || direction == Character.DIRECTIONALITY_RIGHT_TO_LEFT_ARABIC;
    }
}
