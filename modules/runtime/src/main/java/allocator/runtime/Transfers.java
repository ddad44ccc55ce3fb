package allocator.runtime;

import allocator.runtime.transfer.Router;
import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * The copies of a session: between its memories, and between them and the host. See {@link Session#transfers}.
 *
 * <p>The first of the session's providers that copies between the two memories does it. If none does, the bytes go
 * through memory of the host that two providers reach, pinned memory if there is any, in pieces of 4 MiB: one piece
 * leaves while the next one arrives. A segment on the Java heap, such as {@code MemorySegment.ofArray(floats)}, goes
 * the same way; a native one is copied from and to directly.
 *
 * <p><b>Order.</b> A copy without a stream is complete when the call returns (D-01). One with a stream follows the work
 * that was queued there before; it is complete when the stream has done it, and until then both ranges have to stay
 * valid, and a native segment alive (D-02). Where no provider can queue it, as through the host or with a stream of
 * another provider, the call waits for the stream and is complete when it returns. Whether {@code source} is written is
 * the caller's business: a copy waits for no other stream.
 *
 * <p><b>Failures.</b> Every copy throws an {@link UnsupportedMemoryException} if there is no way, see {@link #canCopy},
 * an {@link InvalidSizeException} if the sizes differ, an {@link allocator.spi.OutOfMemoryException} if there is no
 * memory of the host to go through, a {@link DeviceException} if a device fails, and an
 * {@link AllocatorClosedException} if the session is closed and none of its runs is in progress; one with a stream
 * throws an {@link IllegalStateException} if the stream is closed. What is wrong with the arguments is found before a
 * byte is copied (D-03): a native segment of a closed arena is an {@link IllegalStateException}, one that is confined
 * to another thread a {@link WrongThreadException}. After a {@link DeviceException} the bytes of the target are
 * undefined; nothing is lost. The device may then still be copying: free or use both ranges once a later copy, or the
 * session's close, has succeeded.
 *
 * <p>While a copy is under way, a session that is closed does not release its allocators. Safe for use by several
 * threads. A call may block on the device.
 */
public final class Transfers {
    private final Session session;
    private final Router router;

    Transfers(Session session, Router router) {
        this.session = session;
        this.router = router;
    }

    /**
     * {@return whether there is a way between two memories, so that {@link #copy} works}
     *
     * @param source the memory to copy from
     * @param target the memory to copy to
     */
    public boolean canCopy(MemoryInfo source, MemoryInfo target) {
        Objects.requireNonNull(source, "source");
        Objects.requireNonNull(target, "target");
        return session.whileUsed(() -> router.canCopy(source, target));
    }

    /**
     * Copies bytes and waits.
     *
     * @param source the bytes to copy; see {@link ManagedAllocator#range}
     * @param target where to copy them; of the same size, and not overlapping {@code source}
     */
    public void copy(MemoryRange source, MemoryRange target) {
        session.whileUsed(() -> router.copy(source, target, null));
    }

    /**
     * Copies bytes in the order of a stream.
     *
     * @param source the bytes to copy
     * @param target where to copy them; of the same size, and not overlapping {@code source}
     * @param stream the stream
     */
    public void copy(MemoryRange source, MemoryRange target, SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        session.whileUsed(() -> router.copy(source, target, stream));
    }

    /**
     * Copies from the host and waits.
     *
     * @param source the bytes to copy: an array, a buffer or native memory as a segment
     * @param target where to copy them; of the same size
     */
    public void copy(MemorySegment source, MemoryRange target) {
        session.whileUsed(() -> router.copy(source, target, null));
    }

    /**
     * Copies from the host in the order of a stream. An array is read when the call returns.
     *
     * @param source the bytes to copy: an array, a buffer or native memory as a segment
     * @param target where to copy them; of the same size
     * @param stream the stream
     */
    public void copy(MemorySegment source, MemoryRange target, SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        session.whileUsed(() -> router.copy(source, target, stream));
    }

    /**
     * Copies to the host and waits.
     *
     * @param source the bytes to copy
     * @param target where to copy them: an array, a buffer or native memory as a segment; of the same size
     * @throws IllegalArgumentException if the segment is read-only
     */
    public void copy(MemoryRange source, MemorySegment target) {
        session.whileUsed(() -> router.copy(source, target, null));
    }

    /**
     * Copies to the host in the order of a stream. An array is written when the call returns.
     *
     * @param source the bytes to copy
     * @param target where to copy them: an array, a buffer or native memory as a segment; of the same size
     * @param stream the stream
     * @throws IllegalArgumentException if the segment is read-only
     */
    public void copy(MemoryRange source, MemorySegment target, SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        session.whileUsed(() -> router.copy(source, target, stream));
    }
}
