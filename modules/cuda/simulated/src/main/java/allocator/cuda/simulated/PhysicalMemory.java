package allocator.cuda.simulated;

/** Device memory without an address, from {@code cuMemCreate}. */
final class PhysicalMemory {
    final long handle;
    final SimulatedDevice device;
    final long byteSize;
    final Bytes bytes;
    int mappings;
    boolean isReleased;

    PhysicalMemory(long handle, SimulatedDevice device, long byteSize, Bytes bytes) {
        this.handle = handle;
        this.device = device;
        this.byteSize = byteSize;
        this.bytes = bytes;
    }

    @Override
    public String toString() {
        return "device %d: %d bytes of physical memory, handle %#x".formatted(device.info.ordinal(), byteSize, handle);
    }
}
