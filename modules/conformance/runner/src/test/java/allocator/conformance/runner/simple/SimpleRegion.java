package allocator.conformance.runner.simple;

/**
 * Memory that the device gave.
 *
 * @param base the address to return to the device
 * @param address the first address to use
 * @param byteSize its size
 * @param isReserve whether it serves a single reserve
 */
record SimpleRegion(long base, long address, long byteSize, boolean isReserve) {}
