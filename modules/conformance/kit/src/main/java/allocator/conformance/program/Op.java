package allocator.conformance.program;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A step of a {@link Program}. Blocks, streams and notifications are numbered. A step on a block or stream that does
 * not exist does nothing, so any subsequence of a program is a program. Stream 0 means no stream.
 */
public sealed interface Op {
    /** Allocates a block, on a stream unless that is 0. */
    record Alloc(int block, long byteSize, int stream) implements Op {
        @Override
        public String toString() {
            return "alloc b" + block + " " + byteSize + (stream == 0 ? "" : " on s" + stream);
        }
    }

    /** Allocates a block outside the growth of an arena. */
    record Reserve(int block, long byteSize) implements Op {
        @Override
        public String toString() {
            return "reserve b" + block + " " + byteSize;
        }
    }

    /** Frees a block. */
    record Free(int block) implements Op {
        @Override
        public String toString() {
            return "free b" + block;
        }
    }

    /** Creates a stream. */
    record Open(int stream) implements Op {
        @Override
        public String toString() {
            return "open s" + stream;
        }
    }

    /** Closes a stream. */
    record Close(int stream) implements Op {
        @Override
        public String toString() {
            return "close s" + stream;
        }
    }

    /** Activates a notification on a stream. */
    record Activate(int notification, int stream) implements Op {
        @Override
        public String toString() {
            return "notify n" + notification + " on s" + stream;
        }
    }

    /** Makes a stream wait for a notification. */
    record Await(int notification, int stream) implements Op {
        @Override
        public String toString() {
            return "wait n" + notification + " on s" + stream;
        }
    }

    /** Waits on the host for a stream's work. */
    record Flush(int stream) implements Op {
        @Override
        public String toString() {
            return "flush s" + stream;
        }
    }

    /** Ends a run on a stream. */
    record RunEnd(int stream) implements Op {
        @Override
        public String toString() {
            return "run-end s" + stream;
        }
    }

    /** Returns unused memory to the device. */
    record Shrink() implements Op {
        @Override
        public String toString() {
            return "shrink";
        }
    }

    /** Creates a further reference to the memory's allocator. */
    record Create() implements Op {
        @Override
        public String toString() {
            return "create";
        }
    }

    /** Releases the newest further reference. */
    record Release() implements Op {
        @Override
        public String toString() {
            return "release";
        }
    }

    /** How a step is written. */
    Pattern FORM = Pattern.compile("([a-z-]+)(?: ([bsn])(\\d+))?(?: (\\d+))?(?: on s(\\d+))?");

    /**
     * Reads a step as {@code toString} writes it.
     *
     * @throws IllegalArgumentException if the line is no step
     */
    static Op parse(String line) {
        final Matcher form = FORM.matcher(line);
        if (!form.matches()) {
            throw new IllegalArgumentException("'" + line + "' is not a step");
        }
        final String kind = form.group(2) == null ? "" : form.group(2);
        final int number = form.group(3) == null ? 0 : Integer.parseInt(form.group(3));
        final long byteSize = form.group(4) == null ? -1 : Long.parseLong(form.group(4));
        final int stream = form.group(5) == null ? 0 : Integer.parseInt(form.group(5));
        final Op op = switch (form.group(1) + " " + kind) {
            case "alloc b" -> new Alloc(number, byteSize, stream);
            case "reserve b" -> new Reserve(number, byteSize);
            case "free b" -> new Free(number);
            case "open s" -> new Open(number);
            case "close s" -> new Close(number);
            case "notify n" -> new Activate(number, stream);
            case "wait n" -> new Await(number, stream);
            case "flush s" -> new Flush(number);
            case "run-end s" -> new RunEnd(number);
            case "shrink " -> new Shrink();
            case "create " -> new Create();
            case "release " -> new Release();
            default -> throw new IllegalArgumentException("'" + line + "' is not a step");
        };
        if (!op.toString().equals(line)) {
            throw new IllegalArgumentException("'" + line + "' is not a step; did you mean '" + op + "'?");
        }
        return op;
    }
}
