package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.spi.StreamHazardException.Site;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** All memory that has an address, of all devices; no two entries overlap. */
final class AddressMap {
    private final TreeMap<Long, AddressedMemory> entries = new TreeMap<>();

    /** Memory that was freed into a pool and not allocated again since. */
    private final TreeMap<Long, Freed> frees = new TreeMap<>();

    /**
     * A free into a pool, with its call site.
     *
     * @param end where the part ends that was not allocated again; it begins at the key of {@link #frees}
     */
    record Freed(long address, long byteSize, Site site, long end) {}

    void add(AddressedMemory memory) {
        forgetFrees(memory.address, memory.byteSize);
        entries.put(memory.address, memory);
    }

    void remove(AddressedMemory memory) {
        entries.remove(memory.address);
    }

    /** Removes an allocation of a pool, which it can serve again. */
    void freeIntoPool(AddressedMemory allocation, Site site) {
        remove(allocation);
        frees.put(allocation.address, new Freed(allocation.address, allocation.byteSize, site, allocation.end()));
    }

    private void forgetFrees(long address, long byteSize) {
        cutFree(frees.lowerEntry(address), address, address + byteSize);
        for (Map.Entry<Long, Freed> free = frees.ceilingEntry(address);
                free != null && free.getKey() < address + byteSize;
                free = frees.higherEntry(free.getKey())) {
            cutFree(free, address, address + byteSize);
        }
    }

    /** Forgets the part of a free that lies between two addresses. */
    private void cutFree(Map.@Nullable Entry<Long, Freed> free, long from, long to) {
        if (free == null || free.getValue().end <= from) {
            return;
        }
        final Freed whole = free.getValue();
        frees.remove(free.getKey());
        if (free.getKey() < from) {
            frees.put(free.getKey(), new Freed(whole.address, whole.byteSize, whole.site, from));
        }
        if (to < whole.end) {
            frees.put(to, whole);
        }
    }

    /** Returns the free of the memory at an address, if a pool of a device still has it. */
    @Nullable
    Freed freedInto(Device device, long address) {
        final Map.Entry<Long, Freed> before = frees.floorEntry(address);
        return before != null
                        && before.getValue().end > address
                        && device.pools.values().stream().anyMatch(pool -> pool.holds(address))
                ? before.getValue()
                : null;
    }

    /** Removes an allocation and returns its memory to the pool, the device or the host. */
    void free(AddressedMemory allocation, Site site) {
        if (allocation.tile != null) {
            freeIntoPool(allocation, site);
            final MemoryPool pool = allocation.tile.segment.pool;
            pool.free(allocation.tile, null, 0);
            pool.freeHasTakenEffect(allocation.byteSize);
            return;
        }
        remove(allocation);
        if (allocation.isHostMemory()) {
            PageAlignedMemory.free(allocation.address);
        } else {
            allocation.device.returnMemory(allocation.byteSize);
            allocation.device.addresses.giveBack(allocation.address, allocation.byteSize);
        }
    }

    /** Removes everything, and frees what is memory of this process. */
    void clear() {
        entries.values().stream()
                .filter(AddressedMemory::isHostMemory)
                .forEach(memory -> PageAlignedMemory.free(memory.address));
        entries.clear();
    }

    Collection<AddressedMemory> all() {
        return entries.values();
    }

    /** Returns the allocation at an address, which {@code cuMemFree} and {@code cuMemFreeAsync} may free. */
    AddressedMemory requireFreeable(Device device, long address) {
        final AddressedMemory found = entries.get(address);
        if (found == null
                || found.device != device
                || found.mapped != null
                || found.origin == CudaFunction.MEM_HOST_ALLOC) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
        return found;
    }

    /** Returns the allocation at an address, which {@code cuMemFreeHost} may free. */
    AddressedMemory requirePinned(long address) {
        final AddressedMemory found = entries.get(address);
        if (found == null || found.origin != CudaFunction.MEM_HOST_ALLOC) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
        return found;
    }

    /** Returns the memory that contains an address. */
    @Nullable
    AddressedMemory containing(long address) {
        final Map.Entry<Long, AddressedMemory> before = entries.floorEntry(address);
        return before != null && address < before.getValue().end() ? before.getValue() : null;
    }

    /** Returns all memory that overlaps a span. */
    List<AddressedMemory> overlapping(long address, long byteSize) {
        final List<AddressedMemory> found = new ArrayList<>();
        final AddressedMemory containing = containing(address);
        if (containing != null && containing.address < address) {
            found.add(containing);
        }
        found.addAll(entries.subMap(address, address + byteSize).values());
        return found;
    }

    /** Returns the contents of a span, in order; the span may cover adjacent mappings. */
    List<Contents.Slice> slices(Device device, long address, long byteSize, MemoryAccess access) {
        if (byteSize < 0 || byteSize > Long.MAX_VALUE - address) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
        final List<Contents.Slice> slices = new ArrayList<>();
        for (long at = address; at < address + byteSize; ) {
            final AddressedMemory memory = containing(at);
            if (memory == null || !isAccessible(memory, device, access)) {
                throw new CallFailure(CudaResult.INVALID_VALUE);
            }
            final long part = Math.min(memory.end(), address + byteSize) - at;
            slices.add(new Contents.Slice(memory.contents, memory.contentsOffset + at - memory.address, part));
            at += part;
        }
        return slices;
    }

    private static boolean isAccessible(AddressedMemory memory, Device device, MemoryAccess access) {
        if (memory.isHostMemory()) {
            return true;
        }
        if (memory.mapped != null) {
            return memory.access.getOrDefault(device, MemoryAccess.NONE).code() >= access.code();
        }
        if (memory.device == device) {
            return true;
        }
        if (memory.tile != null) {
            return memory.tile
                            .segment
                            .pool
                            .access
                            .getOrDefault(device, MemoryAccess.NONE)
                            .code()
                    >= access.code();
        }
        return device.peers.contains(memory.device);
    }
}
