package allocator.resource.base;

import allocator.provider.support.internal.BriefLock;
import allocator.provider.support.internal.ChangeMark;
import allocator.provider.support.internal.LongTable;
import allocator.spi.InvalidSizeException;
import org.jspecify.annotations.Nullable;

/**
 * The live blocks of a resource by address, each with a number, mostly its size, and optionally an object: a
 * {@link LongTable} behind a lock.
 *
 * <p>{@link #expect} makes the room of an entry before the upstream is called; {@link #add} or {@link #expectNoMore}
 * takes it. An entry is out of the table while its block is on its way back, so that an address which comes again at
 * once meets no old entry, and keeps its room until {@link #settle}: the upstream may reject the call.
 *
 * <p>Safe for use by several threads. If the stack of a thread ends while the table changes, {@link #expect} throws
 * from then on.
 *
 * @param <T> type of the attached objects
 */
public final class LiveTable<T> {
    private final LongTable<T> table;
    private final BriefLock lock = new BriefLock();
    private final ChangeMark mark = new ChangeMark();

    /** Creates an empty table. */
    public LiveTable(boolean hasAttachments) {
        table = new LongTable<>(hasAttachments);
    }

    /**
     * Makes the room of one more entry.
     *
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes
     * @throws IllegalStateException if an error ended an earlier change of this table halfway
     */
    public void expect() {
        lock.lock();
        try {
            mark.requireWhole("the table of the live blocks of a resource");
            table.expect();
        } finally {
            lock.unlock();
        }
    }

    /** Gives up the room that {@link #expect} made: there is no block. */
    public void expectNoMore() {
        lock.lock();
        try {
            table.expectNoMore();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Adds an entry for which there is room.
     *
     * @param address its address, not zero; an entry that is there is replaced
     * @param attachment its object, {@code null} for none
     */
    public void add(long address, long value, @Nullable T attachment) {
        lock.lock();
        try {
            mark.begin();
            table.add(address, value, attachment);
            mark.end();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Removes an entry for now, whatever its number is. {@link #settle} follows, if there was one.
     *
     * @param none what to return if there is no entry
     * @return its number, or {@code none}
     */
    public long take(long address, long none) {
        lock.lock();
        try {
            final int slot = table.find(address);
            if (slot < 0) {
                return none;
            }
            final long value = table.value(slot);
            remove(slot);
            return value;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Removes an entry whose number is a size, for now. {@link #settle} follows, if there was one.
     *
     * @param byteSize the size that the entry must have, in bytes
     * @return whether there was one
     * @throws InvalidSizeException if the entry has another size; nothing changes
     */
    public boolean takeSized(long address, long byteSize) {
        lock.lock();
        try {
            final int slot = slot(address, byteSize);
            if (slot >= 0) {
                remove(slot);
            }
            return slot >= 0;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Removes an entry with an object, whose number is a size, for now. {@link #settle} follows, if there was one.
     *
     * @param byteSize the size that the entry must have, in bytes
     * @return its object, {@code null} if there is no entry
     * @throws InvalidSizeException if the entry has another size; nothing changes
     */
    public @Nullable T takeAttached(long address, long byteSize) {
        lock.lock();
        try {
            final int slot = slot(address, byteSize);
            if (slot < 0) {
                return null;
            }
            final T attachment = table.attachment(slot);
            remove(slot);
            return attachment;
        } finally {
            lock.unlock();
        }
    }

    private void remove(int slot) {
        mark.begin();
        table.removeForNow(slot);
        mark.end();
    }

    private int slot(long address, long byteSize) {
        final int slot = table.find(address);
        if (slot >= 0 && table.value(slot) != byteSize) {
            throw new InvalidSizeException(
                    byteSize, "is not the " + table.value(slot) + " allocated at 0x" + Long.toHexString(address));
        }
        return slot;
    }

    /**
     * Ends what a {@code take} began.
     *
     * @param attachment its object, {@code null} for none
     * @param isFreed whether the block is freed; otherwise the entry comes back
     */
    public void settle(long address, long value, @Nullable T attachment, boolean isFreed) {
        if (isFreed) {
            expectNoMore();
        } else {
            add(address, value, attachment);
        }
    }

    /** {@return the object of an entry, {@code null} if there is none} */
    public @Nullable T attachment(long address) {
        lock.lock();
        try {
            final int slot = table.find(address);
            return slot < 0 ? null : table.attachment(slot);
        } finally {
            lock.unlock();
        }
    }

    /** {@return the addresses of all entries, in no order} */
    public long[] addresses() {
        lock.lock();
        try {
            return table.addresses();
        } finally {
            lock.unlock();
        }
    }
}
