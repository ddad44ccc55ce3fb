package allocator.conformance.rules;

import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.AllocatorStats;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Memory that was freed on streams, and who gets it (T-03). Memory that went back to the device may go to anybody, so
 * where the bytes held fall, what may have gone back is no longer watched.
 */
public final class FreedMemory {
    /** How often a test asks whether another stream gets freed memory. */
    private static final int REQUESTS = 20;

    private final Subject subject;
    private final StreamAwareAllocator allocator;
    private final List<Block> blocks = new ArrayList<>();
    private boolean counts;
    private long held;

    /** A freed block, and the stream on which it was allocated. */
    private record Block(long address, long byteSize, SyncStream stream) {
        boolean overlaps(long otherAddress, long otherSize) {
            return otherAddress < address + byteSize && address < otherAddress + otherSize;
        }
    }

    /** Watches what is freed from now on. */
    public FreedMemory(Subject subject, StreamAwareAllocator allocator) {
        this.subject = subject;
        this.allocator = allocator;
        held = held(allocator.stats());
    }

    private long held(AllocatorStats stats) {
        return subject.heldByDevice(stats.bytesHeld());
    }

    /** Notes what went back to the device, which may be any free memory. */
    private void look() {
        final long now = held(allocator.stats());
        if (now < held) {
            blocks.clear();
        }
        held = now;
    }

    /** Frees a block that was allocated on a stream, and watches it unless it went back to the device. */
    public void free(long address, long byteSize, SyncStream stream) {
        if (!returns(address)) {
            blocks.add(new Block(address, byteSize, stream));
        }
    }

    /** Frees a block; returns whether it went back to the device. */
    private boolean returns(long address) {
        look();
        final long inUse = allocator.stats().bytesInUse();
        // The block is live, so an allocator that counts at all counts it.
        counts |= inUse > 0;
        allocator.free(address);
        final AllocatorStats after = allocator.stats();
        final long returned = held - held(after);
        if (returned > inUse - after.bytesInUse()) {
            // More than the block: a region, in which others may have been.
            blocks.clear();
        }
        held -= returned;
        return returned > 0;
    }

    /** Allocates, on a stream unless that is null. */
    public long allocate(long byteSize, @Nullable SyncStream user) {
        look();
        final long address = user == null ? allocator.alloc(byteSize) : allocator.allocOnStream(byteSize, user);
        look();
        return address;
    }

    /** Fails if a block of a stream, or of none, overlaps one that was freed on another. */
    public void requireApart(
            long address, long byteSize, @Nullable SyncStream user, String format, @Nullable Object... arguments) {
        for (final Block block : blocks) {
            if (block.overlaps(address, byteSize) && !Expect.same(block.stream, user)) {
                if (!counts && subject.probe().isEmpty()) {
                    throw Expect.skip("freed memory came again; the allocator counts nothing, so it is not known"
                            + " whether the memory went back to the device in between");
                }
                Expect.that(false, format, arguments);
            }
        }
    }

    /**
     * Allocates repeatedly on a stream, or without one; fails if a block overlaps a freed one. Frees everything.
     *
     * @param story the events before, for the message
     */
    public void requireNotReused(long byteSize, @Nullable SyncStream user, String story) {
        final List<Long> taken = new ArrayList<>();
        try {
            for (int i = 0; i < REQUESTS; i++) {
                final long address = allocate(byteSize, user);
                taken.add(address);
                requireApart(
                        address,
                        byteSize,
                        user,
                        "%s; then %d bytes at %s went to %s, while work of the first stream may still use them",
                        story,
                        byteSize,
                        Expect.hex(address),
                        user == null ? "an allocation without a stream, which any stream may use" : "another stream");
            }
        } finally {
            taken.forEach(this::returns);
        }
    }
}
