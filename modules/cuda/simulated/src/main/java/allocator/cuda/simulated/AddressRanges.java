package allocator.cuda.simulated;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.simulated.StreamQueue.Span;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Reserved addresses, physical memory, and the mappings between them. */
final class AddressRanges {
    private final AddressMap memory;
    private final Streams streams;

    /** Size of each range by its first address. */
    private final TreeMap<Long, Long> ranges = new TreeMap<>();

    /** By handle; stays while it is mapped. */
    private final Map<Long, PhysicalMemory> physical = new LinkedHashMap<>();

    AddressRanges(AddressMap memory, Streams streams) {
        this.memory = memory;
        this.streams = streams;
    }

    long reserve(SimulatedDevice device, long byteSize) {
        requireGranules(byteSize);
        final long address = device.addresses.take(byteSize, Sizes.PHYSICAL_GRANULARITY);
        ranges.put(address, byteSize);
        return address;
    }

    void free(SimulatedDevice device, long address, long byteSize) {
        if (ranges.getOrDefault(address, 0L) != byteSize
                || byteSize == 0
                || !memory.in(address, byteSize).isEmpty()) {
            throw new Refused(CudaResult.INVALID_VALUE);
        }
        ranges.remove(address);
        device.addresses.giveBack(address, byteSize);
    }

    long create(SimulatedDevice device, long byteSize) {
        requireGranules(byteSize);
        device.takeMemory(byteSize);
        final PhysicalMemory created =
                new PhysicalMemory(streams.newHandle(), device, byteSize, device.newBytes(byteSize));
        physical.put(created.handle, created);
        return created.handle;
    }

    void release(long handle) {
        final PhysicalMemory released = find(handle);
        released.isReleased = true;
        giveBackIfUnused(released);
    }

    private PhysicalMemory find(long handle) {
        final PhysicalMemory found = physical.get(handle);
        if (found == null || found.isReleased) {
            throw new Refused(CudaResult.INVALID_VALUE);
        }
        return found;
    }

    private void giveBackIfUnused(PhysicalMemory unmapped) {
        if (unmapped.isReleased && unmapped.mappings == 0) {
            physical.remove(unmapped.handle);
            streams.returnHandle(unmapped.handle);
            unmapped.device.giveBackMemory(unmapped.byteSize);
        }
    }

    void map(long call, long address, long byteSize, long handle) {
        requireGranules(byteSize);
        Sizes.requireMultiple(address, Sizes.PHYSICAL_GRANULARITY);
        final PhysicalMemory mapped = find(handle);
        if (byteSize != mapped.byteSize
                || !isReserved(address, byteSize)
                || !memory.in(address, byteSize).isEmpty()) {
            throw new Refused(CudaResult.INVALID_VALUE);
        }
        final int device = mapped.device.info.ordinal();
        final Block block =
                new Block(CudaFunction.MEM_MAP, call, device, address, byteSize, mapped.bytes, 0, mapped, null);
        block.access = MemoryAccess.NONE;
        memory.add(block);
        mapped.mappings++;
    }

    private boolean isReserved(long address, long byteSize) {
        final Map.Entry<Long, Long> range = ranges.floorEntry(address);
        return range != null && byteSize <= range.getKey() + range.getValue() - address;
    }

    void unmap(long address, long byteSize) {
        final List<Block> mappings = requireMapped(address, byteSize);
        streams.requireDone(CudaFunction.MEM_UNMAP.functionName(), List.of(new Span(address, byteSize, true)));
        for (Block block : mappings) {
            memory.remove(block);
            if (block.mapped != null) {
                block.mapped.mappings--;
                giveBackIfUnused(block.mapped);
            }
        }
    }

    void setAccess(long address, long byteSize, MemoryAccess access) {
        requireMapped(address, byteSize).forEach(block -> block.access = access);
    }

    /** Mappings that fill a span exactly. */
    private List<Block> requireMapped(long address, long byteSize) {
        requireGranules(byteSize);
        final List<Block> mappings = memory.in(address, byteSize);
        final long filled = mappings.stream()
                .filter(block -> block.mapped != null)
                .mapToLong(block -> block.byteSize)
                .sum();
        if (filled != byteSize || mappings.getFirst().address != address) {
            throw new Refused(CudaResult.INVALID_VALUE);
        }
        return mappings;
    }

    private static void requireGranules(long byteSize) {
        Sizes.requirePositive(byteSize);
        Sizes.requireMultiple(byteSize, Sizes.PHYSICAL_GRANULARITY);
    }

    /** What was not given back, a line each; mappings are in the address map. */
    List<String> live() {
        final List<String> live = new ArrayList<>();
        physical.values().stream()
                .filter(created -> !created.isReleased)
                .forEach(created -> live.add(created.toString()));
        ranges.forEach(
                (address, byteSize) -> live.add("%d bytes of reserved addresses at %#x".formatted(byteSize, address)));
        return live;
    }
}
