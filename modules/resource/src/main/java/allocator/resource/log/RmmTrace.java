package allocator.resource.log;

import allocator.resource.log.RmmLog.Action;
import allocator.resource.log.RmmLog.Entry;
import allocator.spi.OptionKey;
import java.io.IOException;
import java.io.Writer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Writes an RMM log as a trace. */
final class RmmTrace {
    private final Writer out;
    private final Map<Long, Live> live = new HashMap<>();
    private final Map<Long, Integer> streams = new HashMap<>();
    private long nextId;

    private record Live(long id, long byteSize) {}

    private RmmTrace(Writer out) {
        this.out = out;
    }

    static void write(List<Entry> entries, Writer out) throws IOException {
        for (int i = 0; i < entries.size(); i++) {
            requireSize(entries.get(i), i);
        }
        out.write(TraceLog.HEADER + "\n");
        final RmmTrace trace = new RmmTrace(out);
        for (final Entry entry : entries) {
            trace.write(entry);
        }
    }

    /** Rejects an allocation that no reader of a trace accepts. The size of a free is that of its block. */
    private static void requireSize(Entry entry, int index) {
        if (isAllocation(entry) && (entry.byteSize() < 0 || entry.byteSize() > OptionKey.MAX_SIZE)) {
            throw new IllegalArgumentException("entry " + index + " allocates " + entry.byteSize()
                    + " bytes, a trace has sizes from 0 to " + OptionKey.MAX_SIZE);
        }
    }

    private static boolean isAllocation(Entry entry) {
        return entry.action() == Action.ALLOCATE && entry.address() != 0;
    }

    private void write(Entry entry) throws IOException {
        if (isAllocation(entry)) {
            // The log lacks the deallocation of the block that had this address before.
            free(entry);
            final Live block = new Live(nextId++, entry.byteSize());
            live.put(entry.address(), block);
            line(false, block, entry);
        } else if (entry.action() == Action.FREE) {
            free(entry);
        }
    }

    private void free(Entry entry) throws IOException {
        final Live block = live.remove(entry.address());
        if (block != null) {
            line(true, block, entry);
        }
    }

    private void line(boolean isFree, Live block, Entry entry) throws IOException {
        final int stream = streams.computeIfAbsent(entry.stream(), key -> streams.size());
        out.write(TraceLog.line(isFree, block.id, block.byteSize, stream) + "\n");
    }
}
