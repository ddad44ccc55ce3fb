package allocator.resource.log;

import allocator.provider.support.internal.LongTable;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A log in the trace format of this project, {@code op,id,bytes,stream}, which the {@code allocator} command replays.
 * Failed and empty allocations are left out. Calls without a stream are on stream 0; streams are numbered from 1 in
 * order of appearance, and do not stay in memory for the log. Closing the log closes the file or writer.
 *
 * <p>Two kinds of record are dropped and counted besides those that cannot be written: a block of a size that no trace
 * has, negative or above {@link OptionKey#MAX_SIZE}, and a deallocation of memory whose allocation is not in the trace,
 * since it was made before the log or dropped. A deallocation is written with the size of its block. So the reader of
 * traces accepts every log, unless a writer has failed in the middle of a line.
 */
public final class TraceLog extends LineLog {
    static final String HEADER = "op,id,bytes,stream";

    /** The ids of the blocks, with their sizes attached. Like the other fields, guarded by the lock. */
    private final LongTable<Long> ids = new LongTable<>(true);

    /** The streams with a number, by id, without those of which no object is left. */
    private final Map<Long, Numbered> streams = new HashMap<>();

    private final ReferenceQueue<SyncStream> ended = new ReferenceQueue<>();

    private int lastNumber;
    private long nextId;

    /** A stream's number. It does not keep the stream. */
    private static final class Numbered extends WeakReference<SyncStream> {
        final long streamId;
        final int number;

        Numbered(SyncStream stream, long streamId, int number, ReferenceQueue<SyncStream> ended) {
            super(stream, ended);
            this.streamId = streamId;
            this.number = number;
        }
    }

    /**
     * Starts a trace.
     *
     * @param out receives the lines, each with one call. If it throws, it must have taken nothing of the line: a
     *     buffered writer may keep a part of it; {@link #to} does not
     * @throws UncheckedIOException if the header cannot be written
     */
    public TraceLog(Writer out) {
        super(out, HEADER);
    }

    /**
     * Starts a trace in a file, which is replaced if it exists. Lines are collected and written many at once. What
     * cannot be written is written later; lines are dropped once 64 KiB of them are waiting. A failed write is undone,
     * so the file has whole lines, unless the process ends in the middle of a write.
     *
     * @param file the file, in the default file system
     * @return the log
     * @throws IOException if the file cannot be opened
     */
    public static TraceLog to(Path file) throws IOException {
        return new TraceLog(new FileLines(new LogFile(file)));
    }

    static String line(boolean isFree, long id, long byteSize, int stream) {
        return (isFree ? "f," : "a,") + id + ',' + byteSize + ',' + stream;
    }

    @Override
    public void allocated(long address, long byteSize, @Nullable SyncStream stream) {
        if (address == 0) {
            return;
        }
        synchronized (lock) {
            final String line;
            final Long size;
            final long id = nextId;
            try {
                if (byteSize < 0 || byteSize > OptionKey.MAX_SIZE) {
                    drop();
                    return;
                }
                size = byteSize;
                line = line(false, id, byteSize, number(stream));
                ids.expect();
            } catch (Throwable e) {
                drop();
                return;
            }
            nextId++;
            if (write(line)) {
                ids.add(address, id, size);
            } else {
                ids.expectNoMore();
            }
        }
    }

    @Override
    public void failed(long byteSize, @Nullable SyncStream stream) {}

    @Override
    public void freed(long address, long byteSize, @Nullable SyncStream stream) {
        if (address == 0) {
            return;
        }
        synchronized (lock) {
            final int slot = ids.find(address);
            final Long size = slot < 0 ? null : ids.attachment(slot);
            if (size == null) {
                drop();
                return;
            }
            final long id = ids.value(slot);
            ids.remove(slot);
            final String line;
            try {
                line = line(true, id, size, number(stream));
            } catch (Throwable e) {
                drop();
                return;
            }
            write(line);
        }
    }

    private int number(@Nullable SyncStream stream) {
        if (stream == null) {
            return 0;
        }
        forgetEnded();
        final long streamId = stream.id();
        final Numbered known = streams.get(streamId);
        if (known != null && known.refersTo(stream)) {
            return known.number;
        }
        final int number = known == null ? lastNumber + 1 : known.number;
        streams.put(streamId, new Numbered(stream, streamId, number, ended));
        lastNumber = Math.max(lastNumber, number);
        return number;
    }

    private void forgetEnded() {
        for (Reference<?> reference = ended.poll(); reference != null; reference = ended.poll()) {
            final Numbered numbered = (Numbered) reference;
            streams.remove(numbered.streamId, numbered);
        }
    }

    /** Returns how many streams have a number. */
    int streams() {
        synchronized (lock) {
            return streams.size();
        }
    }
}
