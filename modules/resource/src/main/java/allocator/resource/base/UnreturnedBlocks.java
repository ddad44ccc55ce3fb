package allocator.resource.base;

import allocator.provider.support.LiveSizes;
import allocator.provider.support.ReturnsUnderWay;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of a {@link allocator.resource.ResourceAllocator} that are dead and whose memory is unreturned, and those
 * that a call is returning at this moment. Guarded by the lock of the live blocks.
 */
public final class UnreturnedBlocks {
    private final AddressTable<SyncStream> blocks = new AddressTable<>();
    private final LiveSizes inOrder = new LiveSizes();
    private final ReturnsUnderWay leaving = new ReturnsUnderWay();
    private final BlockCounts counts;

    /** Starts without blocks; counts what changes. */
    public UnreturnedBlocks(BlockCounts counts) {
        this.counts = counts;
    }

    /**
     * Makes the room of blocks that leave, which {@link #end} gives up.
     *
     * @param count how many leave
     * @param later how many more may, of those that an earlier call has made room for
     */
    public void expect(int count, int later) {
        leaving.ensureRoom(later + count);
        inOrder.ensureRoom(leaving.count() + later + count);
        blocks.expect(count);
    }

    /** Returns the slot of an unreturned block that no call is returning, negative if there is none. */
    public int find(long address) {
        return blocks.find(address);
    }

    /** Returns the size of an unreturned block. */
    public long byteSize(int slot) {
        return blocks.value(slot);
    }

    /** Returns the stream of an unreturned block, {@code null} if it has none. */
    public @Nullable SyncStream stream(int slot) {
        return blocks.attachment(slot);
    }

    /** Returns the addresses of all unreturned blocks. */
    public long[] addresses() {
        return blocks.addresses();
    }

    /** Begins to return a block that has left the live ones, and returns the number of the return. */
    public long begin(long address, long byteSize) {
        return leaving.begin(address, byteSize);
    }

    /** Begins to return an unreturned block again, and returns the number of the return. */
    public long beginAgain(int slot, long address) {
        final long byteSize = blocks.value(slot);
        blocks.remove(slot);
        inOrder.remove(address);
        counts.leavingAgain(byteSize);
        return leaving.begin(address, byteSize);
    }

    /**
     * Ends a return, and gives up the room of the block.
     *
     * @return false if its memory was handed out again since, so that it counts as returned
     */
    public boolean end(long address, long number) {
        blocks.expectNoMore();
        return leaving.end(address, number);
    }

    /** Adds a block whose return has ended without effect. */
    public void add(long address, long byteSize, @Nullable SyncStream stream) {
        blocks.add(address, byteSize, stream);
        inOrder.put(address, byteSize);
        counts.notReturned(byteSize);
    }

    /** Forgets what the resource has taken back before it handed memory out, whatever it reports or reported then. */
    public void forgetOverlapping(long address, long byteSize) {
        for (long start = inOrder.overlapping(address, byteSize);
                start != LiveSizes.NONE;
                start = inOrder.overlapping(address, byteSize)) {
            counts.forgotten(inOrder.remove(start));
            blocks.remove(blocks.find(start));
        }
        counts.returned(leaving.handedOut(address, byteSize));
    }
}
