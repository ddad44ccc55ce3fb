package allocator.provider.support.internal;

import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A hash table from an address to a number, such as a size, and optionally an object. Open addressing with linear
 * probing in an array that holds an address and its number side by side, on one cache line: an entry needs no Java
 * object of its own.
 *
 * <p>{@link #expect} makes the room of an entry before a device is called; {@link #add} then takes nothing from the
 * Java heap, so that no memory is lost for lack of an entry. Entries take half of the slots at most.
 *
 * <p>Not safe for use by several threads. A slot is valid until the next change. Address 0 is never an entry.
 *
 * @param <T> type of the attached objects
 */
public final class LongTable<T> {
    private static final int FIRST_CAPACITY = 16;

    /** The golden ratio's fraction: spreads addresses, of which the low bits are mostly equal. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    private final boolean hasAttachments;

    /** The address of each slot and, behind it, its number. */
    private long[] entries = new long[2 * FIRST_CAPACITY];

    private @Nullable Object[] attachments;
    private int count;

    /** Entries for which there is room and which are not added yet. */
    private int expected;

    /**
     * Creates an empty table.
     *
     * @param hasAttachments whether entries may have objects; without them an entry takes less Java heap
     */
    public LongTable(boolean hasAttachments) {
        this.hasAttachments = hasAttachments;
        attachments = new @Nullable Object[hasAttachments ? FIRST_CAPACITY : 0];
    }

    private static int home(long address, int mask) {
        return (int) ((address * SPREAD) >>> Integer.SIZE) & mask;
    }

    /**
     * Makes the room of one more entry, which {@link #add} or {@link #expectNoMore} takes. Makes the table smaller if
     * few of its slots are taken.
     *
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes
     */
    public void expect() {
        final int capacity = capacity();
        final int needed = count + expected + 1;
        if (needed > capacity >> 1) {
            resize(Math.multiplyExact(capacity, 2));
        } else if (capacity > FIRST_CAPACITY && needed < capacity >> 4) {
            shrink(capacity >> 2);
        }
        expected++;
    }

    /** Gives up the room that {@link #expect} or {@link #removeForNow} made. */
    public void expectNoMore() {
        expected--;
    }

    private void shrink(int capacity) {
        try {
            resize(capacity);
        } catch (OutOfMemoryError e) {
            // The table stays as large as it is.
        }
    }

    /** Fills new arrays before it changes anything, so that a failure leaves the table as it was. */
    private void resize(int capacity) {
        final long[] newEntries = new long[Math.multiplyExact(2, capacity)];
        final @Nullable Object[] newAttachments = new @Nullable Object[hasAttachments ? capacity : 0];
        final int mask = capacity - 1;
        int newCount = 0;
        for (int old = 0; old < capacity(); old++) {
            final long address = address(old);
            if (address != 0) {
                final int slot = slotFor(newEntries, address, mask);
                newCount += newEntries[2 * slot] == 0 ? 1 : 0;
                newEntries[2 * slot] = address;
                newEntries[2 * slot + 1] = value(old);
                if (hasAttachments) {
                    newAttachments[slot] = attachments[old];
                }
            }
        }
        entries = newEntries;
        attachments = newAttachments;
        count = newCount;
    }

    /**
     * Makes the table whole after an error ended a change halfway: an entry may be there twice then.
     *
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes
     */
    public void repair() {
        resize(capacity());
    }

    /** {@return the slot of an address, {@code -1} if there is no entry} */
    public int find(long address) {
        final int slot = slotFor(entries, address, capacity() - 1);
        return entries[2 * slot] == 0 ? -1 : slot;
    }

    /** Returns the slot of an address, or the empty one that is its place. */
    private static int slotFor(long[] entries, long address, int mask) {
        int slot = home(address, mask);
        while (entries[2 * slot] != 0 && entries[2 * slot] != address) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    /** {@return the number of slots, taken or not, for a walk over all entries} */
    public int capacity() {
        return entries.length >> 1;
    }

    /**
     * {@return the address of the entry in a slot, 0 if it has none}
     *
     * @param slot a slot, from 0 to {@link #capacity} less 1
     */
    public long address(int slot) {
        return entries[2 * slot];
    }

    /** {@return the number of an entry} */
    public long value(int slot) {
        return entries[2 * slot + 1];
    }

    /** Changes the number of an entry. */
    public void setValue(int slot, long value) {
        entries[2 * slot + 1] = value;
    }

    /** {@return the object of an entry, {@code null} if it has none} */
    @SuppressWarnings("unchecked")
    public @Nullable T attachment(int slot) {
        return hasAttachments ? (T) attachments[slot] : null;
    }

    /**
     * Adds an entry for which {@link #expect} or {@link #removeForNow} has made room.
     *
     * @param address its address, not zero; an entry that is there is replaced
     * @param attachment its object, {@code null} for none
     */
    public void add(long address, long value, @Nullable T attachment) {
        expected--;
        final int slot = slotFor(entries, address, capacity() - 1);
        if (entries[2 * slot] == 0) {
            count++;
        }
        entries[2 * slot] = address;
        entries[2 * slot + 1] = value;
        if (hasAttachments) {
            attachments[slot] = attachment;
        }
    }

    /** Removes an entry and keeps its room for it to come back with {@link #add}. */
    public void removeForNow(int slot) {
        remove(slot);
        expected++;
    }

    /** Removes an entry. Moves later entries of its probe sequence up, so there are no tombstones. */
    public void remove(int slot) {
        final int mask = capacity() - 1;
        int gap = slot;
        for (int next = (gap + 1) & mask; entries[2 * next] != 0; next = (next + 1) & mask) {
            if (((next - home(entries[2 * next], mask)) & mask) >= ((next - gap) & mask)) {
                entries[2 * gap] = entries[2 * next];
                entries[2 * gap + 1] = entries[2 * next + 1];
                if (hasAttachments) {
                    attachments[gap] = attachments[next];
                }
                gap = next;
            }
        }
        entries[2 * gap] = 0;
        if (hasAttachments) {
            attachments[gap] = null;
        }
        count--;
    }

    /** {@return the number of entries} */
    public int count() {
        return count;
    }

    /** {@return the addresses of all entries, in no order} */
    public long[] addresses() {
        return IntStream.range(0, capacity())
                .mapToLong(this::address)
                .filter(address -> address != 0)
                .toArray();
    }
}
