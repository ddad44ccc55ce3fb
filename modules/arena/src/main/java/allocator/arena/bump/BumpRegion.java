package allocator.arena.bump;

/** One contiguous span taken from the upstream allocator. */
class BumpRegion {
    final long byteSize;
    private long base;

    /** The generation of a {@link BumpArena} in which this was taken; above all others once it is unused. */
    long generation;

    BumpRegion(long byteSize) {
        this.byteSize = byteSize;
    }

    /** Sets the address. Called once. */
    final void placeAt(long address) {
        base = address;
    }

    final long base() {
        return base;
    }

    final boolean contains(long address) {
        return Long.compareUnsigned(address - base, byteSize) < 0;
    }

    /** Returns the first offset at or after {@code offset} whose address is aligned. */
    final long align(long offset, long byteAlignment) {
        return ((base + offset + byteAlignment - 1) & -byteAlignment) - base;
    }
}
