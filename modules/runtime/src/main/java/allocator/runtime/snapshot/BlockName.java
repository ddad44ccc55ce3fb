package allocator.runtime.snapshot;

/**
 * What a block is for and where it was allocated, as far as either is known: the parts of {@link Snapshot.Site#frame},
 * {@code node (operator, kind) at line}. What is not known is empty.
 *
 * @param node the name of the operator of a model, or of what is no operator's, such as {@code weights}
 * @param operator the operator's type, such as {@code MatMul}
 * @param kind what the memory is for, such as {@code activation}; not empty if {@code node} is not
 * @param line the line of the program, such as {@code com.example.Model.load(Model.java:42)}
 */
public record BlockName(String node, String operator, String kind, String line) {
    private static final String AT = " at ";

    /**
     * {@return the parts of a frame; all of it is the line if it names no operator}
     *
     * @param frame the frame
     */
    public static BlockName of(String frame) {
        final int open = frame.lastIndexOf(" (");
        final int close = open <= 0 ? -1 : frame.indexOf(')', open);
        if (close < 0 || (close + 1 < frame.length() && !frame.startsWith(AT, close + 1))) {
            return new BlockName("", "", "", frame);
        }
        final int comma = Math.max(open, frame.lastIndexOf(", ", close));
        return new BlockName(
                frame.substring(0, open),
                comma == open ? "" : frame.substring(open + 2, comma),
                frame.substring(comma + 2, close),
                close + 1 == frame.length() ? "" : frame.substring(close + 1 + AT.length()));
    }

    /**
     * {@return the frame of a name and a line}
     *
     * @param name a frame without a line; empty if the block has no name
     * @param line the line; empty if it is not known
     */
    public static String join(String name, String line) {
        return name + (name.isEmpty() || line.isEmpty() ? "" : AT) + line;
    }

    /**
     * {@return the layer: the node's name up to its first part with a digit, such as {@code /encoder/layer.3} of
     * {@code /encoder/layer.3/attention/MatMul}; otherwise all parts but the last; the name if it has one part}
     */
    public String layer() {
        final int end = node.lastIndexOf('/');
        if (end <= 0) {
            return node;
        }
        for (int i = 0; i < end; i++) {
            if (Character.isDigit(node.charAt(i))) {
                return node.substring(0, node.indexOf('/', i));
            }
        }
        return node.substring(0, end);
    }

    /** {@return the frame, of which {@link #of} returns this} */
    @Override
    public String toString() {
        return join(node.isEmpty() ? "" : node + " (" + (operator.isEmpty() ? "" : operator + ", ") + kind + ")", line);
    }
}
