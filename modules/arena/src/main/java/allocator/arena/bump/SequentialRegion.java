package allocator.arena.bump;

/** A region of an arena that uses its regions in order, and where it begins in the sequence of all regions. */
final class SequentialRegion extends BumpRegion {
    /** The sum of the sizes of the regions before this one. */
    final long position;

    SequentialRegion(long position, long byteSize) {
        super(byteSize);
        this.position = position;
    }

    /** {@inheritDoc} The region is unused: the arena asks for regions after the current one only. */
    @Override
    long room(long byteAlignment) {
        return byteSize - align(0, byteAlignment);
    }
}
