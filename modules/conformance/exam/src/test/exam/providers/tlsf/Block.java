package exam.tlsf;

/** A part of a region, live or free, or a span of its own. */
final class Block {
    long address;
    long byteSize;
    /** What was requested; 0 of a free block. */
    long requested;
    /** The region, null for a span of its own. */
    Region region;
    /** The span of a block of its own. */
    HostPool.Span own;

    Block before;
    Block after;
    Block previousFree;
    Block nextFree;

    boolean isLive() {
        return requested != 0;
    }

    boolean contains(long other) {
        return other >= address && other - address < byteSize;
    }
}
