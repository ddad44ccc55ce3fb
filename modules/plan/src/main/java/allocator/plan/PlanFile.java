package allocator.plan;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Blocks of a file, with their ids: a table of comma-separated values, as MiniMalloc reads and writes it.
 *
 * <pre>
 * id,lower,upper,size,alignment,offset
 * weights,0,90,4096,256,0
 * 1,10,20,100,1,4096
 * </pre>
 *
 * <p>The columns may come in any order; {@code alignment} may be absent, and so may {@code offset}. A block lives from
 * {@code lower} to before {@code upper}. Ids are text without commas, and differ. Numbers are decimal; sizes and
 * alignments are bytes within the limits of {@link Lifetime}. A line ends with a line feed, optionally after a carriage
 * return; empty lines at the end are ignored, and so is a byte order mark at the beginning. A file whose blocks all
 * have offsets is a plan.
 */
public final class PlanFile {
    private static final String ID = "id";
    private static final String LOWER = "lower";
    private static final String UPPER = "upper";
    private static final String SIZE = "size";
    private static final String ALIGNMENT = "alignment";
    private static final String OFFSET = "offset";
    private static final Pattern NUMBER = Pattern.compile("-?[0-9]+");
    private static final List<String> REQUIRED = List.of(ID, LOWER, UPPER, SIZE);
    private static final List<String> KNOWN = List.of(ID, LOWER, UPPER, SIZE, ALIGNMENT, OFFSET);

    /** A byte order mark, and how its bytes read in ISO 8859-1. */
    private static final String MARK = "\uFEFF";

    private static final String MARK_IN_BYTES = "\u00EF\u00BB\u00BF";

    /** No message quotes more of a line. */
    private static final int MOST_QUOTED = 60;

    private final List<String> ids;
    private final Instance instance;
    private final long[] offsets;

    private PlanFile(List<String> ids, Instance instance, long[] offsets) {
        this.ids = List.copyOf(ids);
        this.instance = instance;
        this.offsets = offsets;
    }

    /**
     * Returns whether a file begins as a file of blocks does: with a header that has the required columns.
     *
     * @param file the file
     * @return whether its first line is such a header; {@code false} also if there is no such file, or no text in it
     */
    public static boolean isPlanFile(Path file) {
        if (!Files.isRegularFile(file)) {
            return false;
        }
        try (BufferedReader reader = Files.newBufferedReader(file, StandardCharsets.ISO_8859_1)) {
            final char[] start = new char[256];
            final int length = Math.max(0, reader.read(start));
            final String text = new String(start, 0, length);
            final String line = text.lines().findFirst().orElse("").replaceFirst("^" + MARK_IN_BYTES, "");
            return Arrays.asList(line.split(",", -1)).containsAll(REQUIRED);
        } catch (IOException _) {
            return false;
        }
    }

    /**
     * {@return the blocks of a file}
     *
     * @param file the file
     * @throws PlanFileException if it cannot be read, or is not such a file
     */
    public static PlanFile read(Path file) throws PlanFileException {
        final String name = file.toString();
        try {
            return new Reader(name).read(Files.readString(file));
        } catch (PlanFileException e) {
            throw e;
        } catch (NoSuchFileException e) {
            throw new PlanFileException(name, 0, "no such file", e);
        } catch (AccessDeniedException e) {
            throw new PlanFileException(name, 0, "permission denied", e);
        } catch (CharacterCodingException e) {
            throw new PlanFileException(name, 0, "this is not UTF-8 text", e);
        } catch (IOException e) {
            throw new PlanFileException(name, 0, "cannot be read: " + e.getMessage(), e);
        } catch (OutOfMemoryError e) {
            throw new PlanFileException(name, 0, "is too large for the Java heap", e);
        }
    }

    /**
     * {@return the text of a file with a plan, with a line feed after each line: the columns
     * {@code id,lower,upper,size,offset}, and {@code alignment} before the offset if a block has one above 1}
     *
     * @param ids the id of each block, without commas and line ends
     * @param instance the blocks
     * @param plan their offsets
     * @throws IllegalArgumentException if there is not one id for each block
     */
    public static String text(List<String> ids, Instance instance, Plan plan) {
        if (ids.size() != instance.size()) {
            throw new IllegalArgumentException(ids.size() + " ids for " + instance.size() + " blocks");
        }
        final boolean isAligned = instance.lifetimes().stream().anyMatch(block -> block.byteAlignment() > 1);
        final StringBuilder text = new StringBuilder("id,lower,upper,size,")
                .append(isAligned ? "alignment," : "")
                .append("offset\n");
        for (int block = 0; block < ids.size(); block++) {
            final Lifetime lifetime = instance.lifetime(block);
            text.append(ids.get(block)).append(',').append(lifetime.lower()).append(',');
            text.append(lifetime.upper())
                    .append(',')
                    .append(lifetime.byteSize())
                    .append(',');
            text.append(isAligned ? lifetime.byteAlignment() + "," : "");
            text.append(plan.offset(block)).append('\n');
        }
        return text.toString();
    }

    /** {@return the id of each block, in the order of the file} */
    public List<String> ids() {
        return ids;
    }

    /** {@return the blocks, in the order of the file} */
    public Instance instance() {
        return instance;
    }

    /** {@return whether the file is a plan: it has offsets} */
    public boolean hasOffsets() {
        return offsets.length == ids.size();
    }

    /**
     * {@return the offset of a block in bytes} It is what the file says, and not checked against other blocks.
     *
     * @param block the index of the block
     * @throws IllegalStateException if the file has no offsets
     */
    public long offset(int block) {
        if (!hasOffsets()) {
            throw new IllegalStateException("the file has no offsets");
        }
        return offsets[block];
    }

    /** Reads lines. */
    private static final class Reader {
        private final String name;
        private final List<String> ids = new ArrayList<>();
        private final List<Lifetime> lifetimes = new ArrayList<>();
        private final Set<String> seen = new HashSet<>();
        private List<String> columns = List.of();
        private String[] fields = {};
        private long[] offsets = new long[16];
        private long line;

        Reader(String name) {
            this.name = name;
        }

        PlanFile read(String file) throws PlanFileException {
            long blankLine = 0;
            for (int from = file.startsWith(MARK) ? MARK.length() : 0, end; from < file.length(); from = end + 1) {
                final int lineFeed = file.indexOf('\n', from);
                end = lineFeed < 0 ? file.length() : lineFeed;
                final boolean hasReturn = lineFeed > from && file.charAt(lineFeed - 1) == '\r';
                final String text = file.substring(from, hasReturn ? end - 1 : end);
                line++;
                if (text.indexOf('\r') >= 0) {
                    throw error("a carriage return does not end a line: " + quote(text));
                }
                if (text.isEmpty()) {
                    blankLine = blankLine == 0 ? line : blankLine;
                } else if (blankLine != 0) {
                    throw error("a line follows an empty line, " + blankLine);
                } else if (line == 1) {
                    readHeader(text);
                } else {
                    readBlock(text);
                }
            }
            if (columns.isEmpty()) {
                throw new PlanFileException(name, 0, "the header is missing: id,lower,upper,size", null);
            }
            final boolean hasOffsets = columns.contains(OFFSET);
            return new PlanFile(
                    ids, new Instance(lifetimes), hasOffsets ? Arrays.copyOf(offsets, ids.size()) : new long[0]);
        }

        private void readHeader(String text) throws PlanFileException {
            columns = List.of(text.split(",", -1));
            for (final String column : columns) {
                if (!KNOWN.contains(column)) {
                    throw error("unknown column " + quote(column) + "; known: " + String.join(", ", KNOWN));
                }
            }
            if (new HashSet<>(columns).size() < columns.size() || !columns.containsAll(REQUIRED)) {
                throw error("the header must have each of " + String.join(", ", REQUIRED) + " once: " + quote(text));
            }
        }

        private void readBlock(String text) throws PlanFileException {
            fields = text.split(",", -1);
            if (fields.length != columns.size()) {
                throw error(quote(text) + " has " + fields.length + " fields instead of " + columns.size());
            }
            final String id = fields[columns.indexOf(ID)];
            if (id.isEmpty() || !seen.add(id)) {
                throw error(id.isEmpty() ? "the id is empty" : "a second block has the id " + quote(id));
            }
            if (ids.size() == Instance.MAX_BLOCKS) {
                throw error("there are more than " + Instance.MAX_BLOCKS + " blocks");
            }
            final long alignment = columns.contains(ALIGNMENT) ? number(ALIGNMENT) : 1;
            try {
                lifetimes.add(new Lifetime(number(LOWER), number(UPPER), number(SIZE), alignment));
            } catch (IllegalArgumentException e) {
                throw new PlanFileException(name, line, "" + e.getMessage(), e);
            }
            if (columns.contains(OFFSET)) {
                if (ids.size() == offsets.length) {
                    offsets = Arrays.copyOf(offsets, 2 * offsets.length);
                }
                offsets[ids.size()] = number(OFFSET);
                if (offsets[ids.size()] < 0) {
                    throw error("the offset is negative: " + offsets[ids.size()]);
                }
            }
            ids.add(id);
        }

        private long number(String column) throws PlanFileException {
            final String field = fields[columns.indexOf(column)];
            if (!NUMBER.matcher(field).matches()) {
                throw error(column + " is no number: " + quote(field));
            }
            try {
                return Long.parseLong(field);
            } catch (NumberFormatException e) {
                throw new PlanFileException(name, line, column + " is out of range: " + quote(field), e);
            }
        }

        private static String quote(String text) {
            final String shown = text.length() > MOST_QUOTED ? text.substring(0, MOST_QUOTED) + "…" : text;
            final StringBuilder quoted = new StringBuilder("'");
            shown.codePoints().forEach(c -> {
                if (Character.isISOControl(c)) {
                    quoted.append(String.format("\\u%04x", c));
                } else {
                    quoted.appendCodePoint(c);
                }
            });
            return quoted.append('\'').toString();
        }

        private PlanFileException error(String reason) {
            return new PlanFileException(name, line, reason, null);
        }
    }
}
