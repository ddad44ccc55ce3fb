package allocator.resource.base;

import allocator.provider.support.StackReserve;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A hash table of live allocations by address. An entry has a number, such as its size, and optionally an object. Open
 * addressing with linear probing: an entry needs no object of its own.
 *
 * <p>Whatever is thrown, an entry is in the table or not, and no memory is lost for want of one. {@link #expect} makes
 * the room of an entry before the upstream allocates; {@link #add} then allocates no Java object. Entries take three
 * quarters of the slots at most; an entry that {@link #remove} removed, and that comes back because the upstream
 * rejected the deallocation, finds room in the last quarter. The changes between the first store and the last call
 * nothing.
 *
 * <p>Call every method while {@link #lock} is held, apart from {@link #prepare}, {@link #abandon} and {@link #enter},
 * which take it themselves. A slot is valid until the next change. Address 0 is never an entry.
 *
 * @param <T> type of the attached object
 */
public final class AddressTable<T> {
    private static final int FIRST_CAPACITY = 64;

    /** The golden ratio's fraction: spreads addresses, of which the low bits are mostly equal. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    /** Guards this table, and whatever its user changes together with it. */
    public final SpinLock lock = new SpinLock();

    private long[] addresses = new long[FIRST_CAPACITY];
    private long[] values = new long[FIRST_CAPACITY];
    private @Nullable Object[] attachments = new @Nullable Object[FIRST_CAPACITY];
    private int count;

    /** Entries for which there is room and which are not added yet. */
    private int expected;

    /** Creates an empty table. */
    public AddressTable() {}

    /**
     * Makes the room of an entry, before the upstream is called. Takes the lock.
     *
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes
     * @throws StackOverflowError if the stack has no room for {@link #enter}; nothing changes
     */
    public void prepare() {
        StackReserve.touchBriefly();
        lock.lock();
        try {
            expect();
            lock.unlock();
        } catch (Throwable e) {
            lock.held = 0;
            throw e;
        }
    }

    /** Gives up the room that {@link #prepare} made: the upstream has failed. Takes the lock. */
    public void abandon() {
        lock.lock();
        expected--;
        lock.unlock();
    }

    /**
     * Adds the entry whose room {@link #prepare} made. Takes the lock.
     *
     * @param address its address, not zero; an entry that is there is replaced
     * @param value its number
     * @param attachment its object, {@code null} for none
     */
    public void enter(long address, long value, @Nullable T attachment) {
        lock.lock();
        try {
            expected--;
            add(address, value, attachment);
            lock.unlock();
        } catch (Throwable e) {
            lock.held = 0;
            throw e;
        }
    }

    /**
     * Adds an entry again, whose deallocation the upstream has rejected. Takes the lock.
     *
     * @param address its address
     * @param value its number
     * @param attachment its object, {@code null} for none
     */
    public void restore(long address, long value, @Nullable T attachment) {
        lock.lock();
        try {
            add(address, value, attachment);
            lock.unlock();
        } catch (Throwable e) {
            lock.held = 0;
            throw e;
        }
    }

    /**
     * Makes the room of one more entry.
     *
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes
     */
    public void expect() {
        expect(1);
    }

    /**
     * Makes the room of more entries.
     *
     * @param more how many, not negative
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes
     */
    public void expect(int more) {
        ensureRoom(more);
        expected += more;
    }

    /**
     * Makes the room of one more entry, which is not kept if others are added. Enough for an entry that comes back.
     *
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes
     */
    public void ensureRoom() {
        ensureRoom(1);
    }

    private void ensureRoom(int more) {
        final int needed = count + expected + more;
        final int capacity = addresses.length;
        if (needed > capacity - (capacity >> 2)) {
            int larger = Math.multiplyExact(capacity, 2);
            while (needed > larger - (larger >> 2)) {
                larger = Math.multiplyExact(larger, 2);
            }
            resize(larger);
        } else {
            shrinkIfSparse();
        }
    }

    /** Makes the table smaller if few of its slots are taken. It stays as it is if the Java heap has no room. */
    public void shrinkIfSparse() {
        final int capacity = addresses.length;
        if (capacity > FIRST_CAPACITY && count + expected + 1 < capacity >> 4) {
            shrink(capacity >> 2);
        }
    }

    /**
     * Returns the number of slots.
     *
     * @return how many there are, taken or not
     */
    public int capacity() {
        return addresses.length;
    }

    /**
     * Removes an entry and keeps its room for it to come back; {@link #expectNoMore} gives the room up.
     *
     * @param slot its slot
     */
    public void removeForNow(int slot) {
        remove(slot);
        expected++;
    }

    /**
     * Returns how many entries are expected.
     *
     * @return the entries that have room and were not added yet
     */
    public int expected() {
        return expected;
    }

    /** Gives up the room that {@link #expect} made. */
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

    /** Fills new arrays before it changes anything, so a failure leaves the table as it was. */
    private void resize(int capacity) {
        final long[] newAddresses = new long[capacity];
        final long[] newValues = new long[capacity];
        final @Nullable Object[] newAttachments = new @Nullable Object[capacity];
        final int mask = capacity - 1;
        for (int old = 0; old < addresses.length; old++) {
            final long address = addresses[old];
            if (address != 0) {
                int slot = (int) ((address * SPREAD) >>> 32) & mask;
                while (newAddresses[slot] != 0) {
                    slot = (slot + 1) & mask;
                }
                newAddresses[slot] = address;
                newValues[slot] = values[old];
                newAttachments[slot] = attachments[old];
            }
        }
        addresses = newAddresses;
        values = newValues;
        attachments = newAttachments;
    }

    /**
     * Returns the slot of an address.
     *
     * @param address the address
     * @return its slot, {@code -1} if there is no entry
     */
    public int find(long address) {
        final int mask = addresses.length - 1;
        for (int slot = (int) ((address * SPREAD) >>> 32) & mask; ; slot = (slot + 1) & mask) {
            final long there = addresses[slot];
            if (there == address) {
                return address == 0 ? -1 : slot;
            }
            if (there == 0) {
                return -1;
            }
        }
    }

    /**
     * Returns the number of an entry.
     *
     * @param slot its slot
     * @return the number
     */
    public long value(int slot) {
        return values[slot];
    }

    /**
     * Returns the object of an entry.
     *
     * @param slot its slot
     * @return the object, {@code null} if it has none
     */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    public @Nullable T attachment(int slot) {
        return (T) attachments[slot];
    }

    /**
     * Adds an entry.
     *
     * @param address its address, not zero; an entry that is there is replaced
     * @param value its number
     * @param attachment its object, {@code null} for none
     * @throws OutOfMemoryError if seven of eight slots are taken, for want of {@link #expect}, and the Java heap has no
     *     room for more; nothing changes
     */
    public void add(long address, long value, @Nullable T attachment) {
        if (count >= addresses.length - (addresses.length >> 3)) {
            resize(Math.multiplyExact(addresses.length, 2));
        }
        final int mask = addresses.length - 1;
        int slot = (int) ((address * SPREAD) >>> 32) & mask;
        while (addresses[slot] != 0 && addresses[slot] != address) {
            slot = (slot + 1) & mask;
        }
        if (addresses[slot] == 0) {
            count++;
        }
        addresses[slot] = address;
        values[slot] = value;
        attachments[slot] = attachment;
    }

    /**
     * Removes an entry. Moves later entries of its probe sequence up, so there are no tombstones.
     *
     * @param slot its slot
     */
    public void remove(int slot) {
        final int mask = addresses.length - 1;
        int gap = slot;
        for (int next = (gap + 1) & mask; addresses[next] != 0; next = (next + 1) & mask) {
            final int home = (int) ((addresses[next] * SPREAD) >>> 32) & mask;
            if (((next - home) & mask) >= ((next - gap) & mask)) {
                addresses[gap] = addresses[next];
                values[gap] = values[next];
                attachments[gap] = attachments[next];
                gap = next;
            }
        }
        addresses[gap] = 0;
        attachments[gap] = null;
        count--;
    }

    /**
     * Returns the number of entries.
     *
     * @return how many there are
     */
    public int count() {
        return count;
    }

    /**
     * Returns the addresses of all entries.
     *
     * @return the addresses, in no order
     */
    public long[] addresses() {
        return Arrays.stream(addresses).filter(address -> address != 0).toArray();
    }
}
