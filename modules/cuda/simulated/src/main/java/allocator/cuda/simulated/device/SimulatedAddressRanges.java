package allocator.cuda.simulated.device;

import static allocator.cuda.simulated.device.Calls.on;

import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.simulated.device.AddressedMemory.PhysicalMemory;
import allocator.cuda.simulated.device.StreamQueue.Span;
import allocator.spi.StreamHazardException.Site;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** {@link CudaAddressRanges} of a simulated machine: reserved addresses, physical memory, and mappings. */
final class SimulatedAddressRanges implements CudaAddressRanges {
    private final Calls calls;
    private final AddressMap memory;
    private final Streams streams;
    private final HazardDetector hazards;

    /** Size of each range by its first address. */
    private final TreeMap<Long, Long> ranges = new TreeMap<>();

    /** By handle; an entry stays while it is mapped. */
    private final Map<Long, PhysicalMemory> physical = new LinkedHashMap<>();

    SimulatedAddressRanges(Calls calls, AddressMap memory, Streams streams, HazardDetector hazards) {
        this.calls = calls;
        this.memory = memory;
        this.streams = streams;
        this.hazards = hazards;
    }

    @Override
    public long memGetAllocationGranularity(int device) {
        return calls.get(CudaFunction.MEM_GET_ALLOCATION_GRANULARITY, on(device), () -> {
            Calls.requireSupport(calls.device(device).info.hasVirtualMemory());
            return Sizes.PHYSICAL_GRANULARITY;
        });
    }

    @Override
    public long memAddressReserve(int device, long byteSize) {
        return calls.get(CudaFunction.MEM_ADDRESS_RESERVE, on(device, "byteSize=%d", byteSize), () -> {
            Calls.requireSupport(calls.device(device).info.hasVirtualMemory());
            return reserve(calls.device(device), byteSize);
        });
    }

    @Override
    public void memAddressFree(int device, long address, long byteSize) {
        calls.run(
                CudaFunction.MEM_ADDRESS_FREE,
                on(device, "address=%#x, byteSize=%d", address, byteSize),
                () -> free(calls.device(device), address, byteSize));
    }

    @Override
    public long memCreate(int device, long byteSize) {
        return calls.get(CudaFunction.MEM_CREATE, on(device, "byteSize=%d", byteSize), () -> {
            Calls.requireSupport(calls.device(device).info.hasVirtualMemory());
            return create(calls.device(device), byteSize);
        });
    }

    @Override
    public void memRelease(int device, long handle) {
        calls.run(CudaFunction.MEM_RELEASE, on(device, "handle=%#x", handle), () -> release(handle));
    }

    @Override
    public void memMap(int device, long address, long byteSize, long handle) {
        calls.run(
                CudaFunction.MEM_MAP,
                on(device, "address=%#x, byteSize=%d, handle=%#x", address, byteSize, handle),
                () -> map(calls.number(), address, byteSize, handle));
    }

    @Override
    public void memUnmap(int device, long address, long byteSize) {
        calls.run(
                CudaFunction.MEM_UNMAP,
                on(device, "address=%#x, byteSize=%d", address, byteSize),
                () -> unmap(address, byteSize));
    }

    @Override
    public void memSetAccess(int device, long address, long byteSize, MemoryAccess access) {
        calls.run(
                CudaFunction.MEM_SET_ACCESS,
                on(device, "address=%#x, byteSize=%d, access=%s", address, byteSize, access),
                () -> setAccess(calls.device(device), address, byteSize, access));
    }

    private long reserve(Device device, long byteSize) {
        requireGranules(byteSize);
        final long address = device.addresses.take(byteSize, Sizes.PHYSICAL_GRANULARITY);
        ranges.put(address, byteSize);
        return address;
    }

    private void free(Device device, long address, long byteSize) {
        if (ranges.getOrDefault(address, 0L) != byteSize
                || byteSize == 0
                || !memory.overlapping(address, byteSize).isEmpty()) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
        ranges.remove(address);
        device.addresses.giveBack(address, byteSize);
    }

    private long create(Device device, long byteSize) {
        requireGranules(byteSize);
        device.takeMemory(byteSize);
        final PhysicalMemory created =
                new PhysicalMemory(streams.newHandle(), device, byteSize, device.newContents(byteSize));
        physical.put(created.handle, created);
        return created.handle;
    }

    private void release(long handle) {
        final PhysicalMemory released = find(handle);
        released.isReleased = true;
        releaseIfUnused(released);
    }

    private PhysicalMemory find(long handle) {
        final PhysicalMemory found = physical.get(handle);
        if (found == null || found.isReleased) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
        return found;
    }

    private void releaseIfUnused(PhysicalMemory unmapped) {
        if (unmapped.isReleased && unmapped.mappings == 0) {
            physical.remove(unmapped.handle);
            streams.returnHandle(unmapped.handle);
            unmapped.device.returnMemory(unmapped.byteSize);
        }
    }

    private void map(long call, long address, long byteSize, long handle) {
        requireGranules(byteSize);
        Sizes.requireMultiple(address, Sizes.PHYSICAL_GRANULARITY);
        final PhysicalMemory mapped = find(handle);
        if (byteSize != mapped.byteSize
                || !isReserved(address, byteSize)
                || !memory.overlapping(address, byteSize).isEmpty()) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
        memory.add(AddressedMemory.mapping(call, address, mapped));
        mapped.mappings++;
    }

    private boolean isReserved(long address, long byteSize) {
        final Map.Entry<Long, Long> range = ranges.floorEntry(address);
        return range != null && byteSize <= range.getKey() + range.getValue() - address;
    }

    private void unmap(long address, long byteSize) {
        final List<AddressedMemory> mappings = requireMapped(address, byteSize);
        hazards.requireDone(
                new Site(CudaFunction.MEM_UNMAP.functionName(), "the host"),
                List.of(new Span(address, byteSize, true)));
        for (AddressedMemory mapping : mappings) {
            memory.remove(mapping);
            if (mapping.mapped != null) {
                mapping.mapped.mappings--;
                releaseIfUnused(mapping.mapped);
            }
        }
    }

    private void setAccess(Device device, long address, long byteSize, MemoryAccess access) {
        requireMapped(address, byteSize).forEach(mapping -> mapping.access.put(device, access));
    }

    /** Returns the mappings that fill a span exactly. */
    private List<AddressedMemory> requireMapped(long address, long byteSize) {
        requireGranules(byteSize);
        final List<AddressedMemory> mappings = memory.overlapping(address, byteSize);
        final long filled = mappings.stream()
                .filter(mapping -> mapping.mapped != null)
                .mapToLong(mapping -> mapping.byteSize)
                .sum();
        if (filled != byteSize || mappings.getFirst().address != address) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
        return mappings;
    }

    private static void requireGranules(long byteSize) {
        Sizes.requirePositive(byteSize);
        Sizes.requireMultiple(byteSize, Sizes.PHYSICAL_GRANULARITY);
    }

    /** Returns the memory and the ranges that were not released, one line each; mappings are in the address map. */
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
