package allocator.cuda.simulated.device;

/** Device memory without an address, from {@code cuMemCreate}. */
final class PhysicalMemory {
    final long handle;
    final Device device;
    final long byteSize;
    final Contents contents;
    int mappings;
    boolean isReleased;

    PhysicalMemory(long handle, Device device, long byteSize, Contents contents) {
        this.handle = handle;
        this.device = device;
        this.byteSize = byteSize;
        this.contents = contents;
    }

    @Override
    public String toString() {
        return "device %d: %d bytes of physical memory, handle %#x".formatted(device.ordinal(), byteSize, handle);
    }
}
