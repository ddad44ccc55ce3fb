package allocator.resource;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Live allocations by address, each with a number, such as its size, and, if wanted, an object. Open addressing with
 * linear probing, so that nothing is allocated for an entry.
 *
 * <p>Use it between {@link #lock} and {@link #unlock}; a slot is valid until the next change. Address 0 is never put.
 *
 * @param <T> what is attached to an entry
 */
final class AddressTable<T> {
    private static final int FIRST_CAPACITY = 64;

    private final SpinLock lock = new SpinLock();
    private long[] addresses = new long[FIRST_CAPACITY];
    private long[] values = new long[FIRST_CAPACITY];
    private @Nullable Object[] attachments = new @Nullable Object[FIRST_CAPACITY];
    private int count;

    void lock() {
        lock.lock();
    }

    void unlock() {
        lock.unlock();
    }

    /** The slot of an address; {@code -1} if it is not here. */
    int find(long address) {
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

    long value(int slot) {
        return values[slot];
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    @Nullable
    T attachment(int slot) {
        return (T) attachments[slot];
    }

    void put(long address, long value, @Nullable T attachment) {
        if (count >= addresses.length - (addresses.length >> 2)) {
            grow();
        }
        insert(address, value, attachment);
        count++;
    }

    /** Makes room, so that the next {@link #put} allocates nothing. */
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

    /** Takes an entry out and closes the gap, so that probing never meets a tombstone. */
    void remove(int slot) {
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

    /** Every address, in no order. */
    long[] addresses() {
        return Arrays.stream(addresses).filter(address -> address != 0).toArray();
    }

    private static int home(long address, int mask) {
        final long mixed = address * 0x9E37_79B9_7F4A_7C15L;
        return (int) (mixed >>> 32) & mask;
    }
}
