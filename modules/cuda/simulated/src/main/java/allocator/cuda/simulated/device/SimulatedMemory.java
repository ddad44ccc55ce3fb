package allocator.cuda.simulated.device;

import static allocator.cuda.simulated.device.Calls.on;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.driver.CudaMemoryUsage;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.simulated.device.Calls.Arguments;
import allocator.cuda.simulated.device.StreamQueue.Span;
import allocator.spi.StreamHazardException.Site;
import java.util.List;

/** {@link CudaMemory} of a simulated machine. */
record SimulatedMemory(
        Calls calls,
        AddressMap memory,
        Streams streams,
        Scheduler scheduler,
        HazardDetector hazards,
        boolean hasContents)
        implements CudaMemory {
    @Override
    public long memAlloc(int device, long byteSize) {
        return calls.get(CudaFunction.MEM_ALLOC, on(device, "byteSize=%d", byteSize), () -> {
            final Device target = calls.device(device);
            final long rounded = Sizes.roundRequest(byteSize, Sizes.MEM_ALLOC_ALIGNMENT);
            target.takeMemory(rounded);
            final long address = target.addresses.take(rounded, Sizes.MEM_ALLOC_ALIGNMENT);
            memory.add(AddressedMemory.allocation(
                    CudaFunction.MEM_ALLOC, calls.number(), target, address, rounded, target.newContents(rounded)));
            return address;
        });
    }

    /** Checks again after it has waited, as a host function runs without the lock. */
    @Override
    public void memFree(int device, long address) {
        calls.run(CudaFunction.MEM_FREE, on(device, "address=%#x", address), () -> {
            final Device target = calls.device(device);
            memory.requireFreeable(target, address);
            scheduler.drainDevice(device);
            memory.free(memory.requireFreeable(target, address), new Site("cuMemFree", "the host"));
        });
    }

    @Override
    public CudaMemoryUsage memGetInfo(int device) {
        final long free = calls.get(
                CudaFunction.MEM_GET_INFO,
                on(device),
                () -> calls.device(device).freeByteSize());
        return new CudaMemoryUsage(free, calls.device(device).info.totalByteSize());
    }

    @Override
    public long memAllocManaged(int device, long byteSize) {
        return calls.get(
                CudaFunction.MEM_ALLOC_MANAGED,
                on(device, "byteSize=%d", byteSize),
                () -> allocateHost(CudaFunction.MEM_ALLOC_MANAGED, device, byteSize));
    }

    @Override
    public long memHostAlloc(int device, long byteSize, boolean isPortable) {
        return calls.get(
                CudaFunction.MEM_HOST_ALLOC,
                on(device, "byteSize=%d, isPortable=%b", byteSize, isPortable),
                () -> allocateHost(CudaFunction.MEM_HOST_ALLOC, device, byteSize));
    }

    private long allocateHost(CudaFunction origin, int device, long byteSize) {
        final long rounded = Sizes.roundRequest(byteSize, Sizes.MEM_ALLOC_ALIGNMENT);
        final long address = PageAlignedMemory.allocate(rounded);
        memory.add(AddressedMemory.allocation(
                origin, calls.number(), calls.device(device), address, rounded, hostContents(address, rounded)));
        return address;
    }

    private Contents hostContents(long address, long byteSize) {
        return hasContents ? Contents.Host.at(address, byteSize) : Contents.None.INSTANCE;
    }

    /** Checks again after it has waited, as a host function runs without the lock. */
    @Override
    public void memFreeHost(int device, long address) {
        calls.run(CudaFunction.MEM_FREE_HOST, on(device, "address=%#x", address), () -> {
            memory.requirePinned(address);
            scheduler.drainDevice(device);
            memory.free(memory.requirePinned(address), new Site("cuMemFreeHost", "the host"));
        });
    }

    @Override
    public void memsetD8(int device, long address, byte value, long byteSize) {
        fill(CudaFunction.MEMSET_D8, device, address, value, byteSize, 0);
    }

    @Override
    public void memsetD8Async(int device, long address, byte value, long byteSize, long stream) {
        fill(CudaFunction.MEMSET_D8_ASYNC, device, address, value, byteSize, stream);
    }

    private void fill(CudaFunction function, int device, long address, byte value, long byteSize, long stream) {
        calls.run(
                function,
                on(device, "address=%#x, value=%d, byteSize=%d, stream=%#x", address, value, byteSize, stream),
                () -> {
                    final StreamQueue queue = streams.queue(calls.device(device), stream);
                    final Site site = new Site(function.functionName(), queue);
                    final List<Contents.Slice> target = slices(site, device, new Span(address, byteSize, true));
                    scheduler.submit(
                            queue,
                            site,
                            List.of(new Span(address, byteSize, true)),
                            () -> target.forEach(slice -> slice.fill(value)));
                });
    }

    @Override
    public void memcpyHtoD(int device, long target, long source, long byteSize) {
        copy(CudaFunction.MEMCPY_HTOD, device, target, device, source, byteSize, 0);
    }

    @Override
    public void memcpyHtoDAsync(int device, long target, long source, long byteSize, long stream) {
        copy(CudaFunction.MEMCPY_HTOD_ASYNC, device, target, device, source, byteSize, stream);
    }

    @Override
    public void memcpyDtoH(int device, long target, long source, long byteSize) {
        copy(CudaFunction.MEMCPY_DTOH, device, target, device, source, byteSize, 0);
    }

    @Override
    public void memcpyDtoHAsync(int device, long target, long source, long byteSize, long stream) {
        copy(CudaFunction.MEMCPY_DTOH_ASYNC, device, target, device, source, byteSize, stream);
    }

    @Override
    public void memcpyDtoD(int device, long target, long source, long byteSize) {
        copy(CudaFunction.MEMCPY_DTOD, device, target, device, source, byteSize, 0);
    }

    @Override
    public void memcpyDtoDAsync(int device, long target, long source, long byteSize, long stream) {
        copy(CudaFunction.MEMCPY_DTOD_ASYNC, device, target, device, source, byteSize, stream);
    }

    @Override
    public void memcpyPeerAsync(
            int targetDevice, long target, int sourceDevice, long source, long byteSize, long stream) {
        copy(CudaFunction.MEMCPY_PEER_ASYNC, targetDevice, target, sourceDevice, source, byteSize, stream);
    }

    private void copy(
            CudaFunction function,
            int targetDevice,
            long target,
            int sourceDevice,
            long source,
            long byteSize,
            long stream) {
        calls.run(
                function,
                new Arguments(
                        targetDevice,
                        () -> "targetDevice=%d, target=%#x, sourceDevice=%d, source=%#x, byteSize=%d, stream=%#x"
                                .formatted(targetDevice, target, sourceDevice, source, byteSize, stream)),
                () -> {
                    calls.requireContext(sourceDevice);
                    final StreamQueue queue = streams.queue(calls.device(targetDevice), stream);
                    final Site site = new Site(function.functionName(), queue);
                    final boolean isFromHost =
                            function == CudaFunction.MEMCPY_HTOD || function == CudaFunction.MEMCPY_HTOD_ASYNC;
                    final boolean isToHost =
                            function == CudaFunction.MEMCPY_DTOH || function == CudaFunction.MEMCPY_DTOH_ASYNC;
                    final boolean isFromPageable = isFromHost && memory.containing(source) == null;
                    final boolean isToPageable = isToHost && memory.containing(target) == null;
                    final List<Contents.Slice> to = isToPageable
                            ? pageable(target, byteSize)
                            : slices(site, targetDevice, new Span(target, byteSize, true));
                    final List<Contents.Slice> from = isFromPageable
                            ? snapshot(pageable(source, byteSize), byteSize)
                            : slices(site, sourceDevice, new Span(source, byteSize, false));
                    scheduler.submit(
                            queue,
                            site,
                            isFromPageable // which is read already
                                    ? List.of(new Span(target, byteSize, true))
                                    : List.of(new Span(target, byteSize, true), new Span(source, byteSize, false)),
                            () -> Contents.Slice.copy(from, to, byteSize));
                    final boolean isSynchronous =
                            function == CudaFunction.MEMCPY_HTOD || function == CudaFunction.MEMCPY_DTOH;
                    if (isSynchronous || isToPageable) {
                        scheduler.drain(queue, queue.submitted);
                    }
                });
    }

    /** Returns the contents of a span of addresses. An access to memory that was freed into a pool is a hazard. */
    private List<Contents.Slice> slices(Site site, int device, Span span) {
        final Device target = calls.device(device);
        if (memory.containing(span.address()) == null) {
            final AddressMap.Freed freed = memory.freedInto(target, span.address());
            if (freed != null) {
                throw hazards.usedAfterFree(device, site, span, freed);
            }
        }
        return memory.slices(
                target,
                span.address(),
                span.byteSize(),
                span.isWritten() ? MemoryAccess.READ_WRITE : MemoryAccess.READ);
    }

    private List<Contents.Slice> pageable(long address, long byteSize) {
        if (byteSize < 0 || AddressSpace.isDeviceAddress(address)) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
        return byteSize == 0 ? List.of() : List.of(new Contents.Slice(hostContents(address, byteSize), 0, byteSize));
    }

    private List<Contents.Slice> snapshot(List<Contents.Slice> source, long byteSize) {
        if (!hasContents || byteSize == 0) {
            return source;
        }
        final List<Contents.Slice> staged = List.of(new Contents.Slice(new Contents.Sparse(byteSize), 0, byteSize));
        Contents.Slice.copy(source, staged, byteSize);
        return staged;
    }
}
