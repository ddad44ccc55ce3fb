package allocator.resource.log;

import allocator.resource.log.RmmLog.Action;
import allocator.resource.log.RmmLog.Conversion;
import allocator.resource.log.RmmLog.Entry;
import allocator.resource.log.RmmLog.TraceEvents;
import allocator.spi.OptionKey;
import java.io.IOException;
import java.io.Writer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Turns the entries of an RMM log into the events of a trace, and counts. */
final class RmmTrace {
    private final TraceEvents events;
    private final Map<Long, Live> live = new HashMap<>();
    private final Map<Long, Integer> streams = new HashMap<>();
    private long nextId;
    private long frees;
    private long addedFrees;
    private long failures;
    private long unknownFrees;
    private long otherSizes;

    private record Live(long id, long byteSize) {}

    private RmmTrace(TraceEvents events) {
        this.events = events;
    }

    static Conversion write(List<Entry> entries, Writer out) throws IOException {
        requireSizes(entries);
        out.write(TraceLog.HEADER + "\n");
        return convert(entries, new TraceEvents() {
            @Override
            public void allocation(long id, long byteSize, int stream) throws IOException {
                out.write(TraceLog.line(false, id, byteSize, stream) + "\n");
            }

            @Override
            public void free(long id, long byteSize, int stream) throws IOException {
                out.write(TraceLog.line(true, id, byteSize, stream) + "\n");
            }
        });
    }

    static Conversion convert(List<Entry> entries, TraceEvents events) throws IOException {
        requireSizes(entries);
        final RmmTrace trace = new RmmTrace(events);
        for (final Entry entry : entries) {
            trace.convert(entry);
        }
        return new Conversion(
                trace.nextId, trace.frees, trace.addedFrees, trace.failures, trace.unknownFrees, trace.otherSizes);
    }

    private static void requireSizes(List<Entry> entries) {
        for (int i = 0; i < entries.size(); i++) {
            requireSize(entries.get(i), i);
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

    private void convert(Entry entry) throws IOException {
        if (isAllocation(entry)) {
            // The log lacks the deallocation of the block that had this address before.
            addedFrees += free(entry) ? 1 : 0;
            final Live block = new Live(nextId++, entry.byteSize());
            live.put(entry.address(), block);
            events.allocation(block.id, block.byteSize, stream(entry));
        } else if (entry.action() == Action.FREE) {
            if (free(entry)) {
                frees++;
            } else {
                unknownFrees++;
            }
        } else {
            failures++;
        }
    }

    /** Frees the block at the address of an entry; returns whether there is one. */
    private boolean free(Entry entry) throws IOException {
        final Live block = live.remove(entry.address());
        if (block == null) {
            return false;
        }
        otherSizes += entry.action() == Action.FREE && entry.byteSize() != block.byteSize ? 1 : 0;
        events.free(block.id, block.byteSize, stream(entry));
        return true;
    }

    private int stream(Entry entry) {
        return streams.computeIfAbsent(entry.stream(), key -> streams.size());
    }
}
