package allocator.resource.log;

import allocator.resource.base.AddressTable;
import allocator.spi.SyncStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A log in the trace format of this project, {@code op,id,bytes,stream}, which the {@code allocator} command replays.
 * Failed allocations are left out, and so are deallocations of memory from before the log, which count as dropped.
 * Calls without a stream are on stream 0; streams are numbered from 1 in order of appearance. Closing the log closes
 * the writer.
 */
public final class TraceLog extends LineLog {
    static final String HEADER = "op,id,bytes,stream";

    // Guarded by the lock
    private final AddressTable<Void> ids = new AddressTable<>();
    private final Map<Long, Integer> streams = new HashMap<>();
    private long nextId;

    /**
     * Starts a trace.
     *
     * @param out receives the lines
     * @throws UncheckedIOException if the header cannot be written
     */
    public TraceLog(Writer out) {
        super(out, HEADER);
    }

    /**
     * Starts a trace in a file, which is replaced if it exists.
     *
     * @param file the file
     * @return the log
     * @throws IOException if the file cannot be opened
     */
    public static TraceLog to(Path file) throws IOException {
        return new TraceLog(Files.newBufferedWriter(file));
    }

    static String line(boolean isFree, long id, long byteSize, int stream) {
        return (isFree ? "f," : "a,") + id + ',' + byteSize + ',' + stream;
    }

    @Override
    public void allocated(long address, long byteSize, @Nullable SyncStream stream) {
        lock.lock();
        try {
            final long id = nextId++;
            ids.put(address, id, null);
            write(line(false, id, byteSize, number(stream)));
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void failed(long byteSize, @Nullable SyncStream stream) {}

    @Override
    public void freed(long address, long byteSize, @Nullable SyncStream stream) {
        lock.lock();
        try {
            final int slot = ids.find(address);
            if (slot >= 0) {
                write(line(true, ids.value(slot), byteSize, number(stream)));
                ids.remove(slot);
            } else {
                drop();
            }
        } finally {
            lock.unlock();
        }
    }

    private int number(@Nullable SyncStream stream) {
        return stream == null ? 0 : streams.computeIfAbsent(stream.id(), key -> streams.size() + 1);
    }
}
