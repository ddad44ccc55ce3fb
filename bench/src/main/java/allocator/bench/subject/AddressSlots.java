package allocator.bench.subject;

import allocator.spi.Allocator;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Blocks of an allocator of the contract. */
public class AddressSlots extends Slots {
    private final Allocator allocator;

    /** The address of each slot's block. */
    final long[] blocks;

    public AddressSlots(Allocator allocator, int slots) {
        this.allocator = allocator;
        blocks = new long[slots];
    }

    @Override
    public void alloc(int slot, int byteSize) {
        blocks[slot] = allocator.alloc(byteSize);
    }

    @Override
    public void free(int slot) {
        allocator.free(blocks[slot]);
    }

    @Override
    public void touch(int slot, int byteSize) {
        touch(blocks[slot], byteSize);
    }

    @SuppressWarnings("restricted")
    static void touch(long address, long byteSize) {
        final MemorySegment block = MemorySegment.ofAddress(address).reinterpret(byteSize);
        for (long i = 0; i < byteSize; i += PAGE) {
            block.set(ValueLayout.JAVA_BYTE, i, (byte) 1);
        }
    }

    /** What the system gives memory in. */
    static final int PAGE = 4096;
}
