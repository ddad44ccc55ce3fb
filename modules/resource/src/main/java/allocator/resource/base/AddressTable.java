package allocator.resource.base;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A hash table of live allocations by address. An entry has a number, such as its size, and optionally an object. Open
 * addressing with linear probing: an entry needs no object of its own.
 *
 * <p>Call every method between {@link #lock} and {@link #unlock}. A slot is valid until the next change. Address 0 is
 * never an entry.
 *
 * @param <T> type of the attached object
 */
public final class AddressTable<T> {
    private static final int FIRST_CAPACITY = 64;

    private final SpinLock lock = new SpinLock();
    private long[] addresses = new long[FIRST_CAPACITY];
    private long[] values = new long[FIRST_CAPACITY];
    private @Nullable Object[] attachments = new @Nullable Object[FIRST_CAPACITY];
    private int count;

    /** Creates an empty table. */
    public AddressTable() {}

    /** Locks the table. */
    public void lock() {
        lock.lock();
    }

    /** Unlocks the table. */
    public void unlock() {
        lock.unlock();
    }

    /**
     * Returns the slot of an address.
     *
     * @param address the address
     * @return its slot, {@code -1} if there is no entry
     */
    public int find(long address) {
        final int mask = addresses.length - 1;
        for (int slot = home(address, mask); ; slot = (slot + 1) & mask) {
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
     * @param address its address, not zero and not in the table
     * @param value its number
     * @param attachment its object, {@code null} for none
     */
    public void put(long address, long value, @Nullable T attachment) {
        if (count >= addresses.length - (addresses.length >> 2)) {
            grow();
        }
        insert(address, value, attachment);
        count++;
    }

    /** Doubles the capacity. Allocates before it changes anything, so a failure leaves the table as it was. */
    private void grow() {
        final long[] oldAddresses = addresses;
        final long[] oldValues = values;
        final @Nullable Object[] oldAttachments = attachments;
        final int capacity = Math.multiplyExact(oldAddresses.length, 2);
        final long[] newAddresses = new long[capacity];
        final long[] newValues = new long[capacity];
        final @Nullable Object[] newAttachments = new @Nullable Object[capacity];
        addresses = newAddresses;
        values = newValues;
        attachments = newAttachments;
        for (int slot = 0; slot < oldAddresses.length; slot++) {
            if (oldAddresses[slot] != 0) {
                insert(oldAddresses[slot], oldValues[slot], oldAttachments[slot]);
            }
        }
    }

    private void insert(long address, long value, @Nullable Object attachment) {
        final int mask = addresses.length - 1;
        int slot = home(address, mask);
        while (addresses[slot] != 0) {
            slot = (slot + 1) & mask;
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
            final int distance = (next - home(addresses[next], mask)) & mask;
            if (distance >= ((next - gap) & mask)) {
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
     * Returns the addresses of all entries.
     *
     * @return the addresses, in no order
     */
    public long[] addresses() {
        return Arrays.stream(addresses).filter(address -> address != 0).toArray();
    }

    private static int home(long address, int mask) {
        final long mixed = address * 0x9E37_79B9_7F4A_7C15L;
        return (int) (mixed >>> 32) & mask;
    }
}
