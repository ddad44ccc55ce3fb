package allocator.cuda.simulated.device;

import static allocator.cuda.simulated.device.Calls.on;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;
import allocator.cuda.simulated.device.PoolSegment.Tile;
import allocator.cuda.simulated.device.StreamQueue.Span;
import allocator.spi.StreamHazardException.Site;
import java.util.List;
import java.util.Map;

/** {@link CudaPools} of a simulated machine. */
record SimulatedPools(Calls calls, AddressMap memory, Streams streams, Scheduler scheduler, HazardDetector hazards)
        implements CudaPools {
    @Override
    public long memPoolCreate(int device) {
        return calls.get(CudaFunction.MEM_POOL_CREATE, on(device), () -> {
            Calls.requireSupport(calls.device(device).info.hasMemoryPools());
            final MemoryPool pool = new MemoryPool(streams.newHandle(), calls.device(device));
            calls.device(device).pools.put(pool.handle, pool);
            return pool.handle;
        });
    }

    private MemoryPool pool(long handle, int device) {
        final MemoryPool pool = calls.device(device).pools.get(handle);
        if (pool == null) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
        return pool;
    }

    @Override
    public void memPoolDestroy(int device, long pool) {
        calls.run(CudaFunction.MEM_POOL_DESTROY, on(device, "pool=%#x", pool), () -> {
            final MemoryPool target = pool(pool, device);
            if (target == calls.device(device).defaultPool) {
                throw new CallFailure(CudaResult.INVALID_VALUE);
            }
            target.destroy();
            calls.device(device).pools.remove(pool);
            streams.returnHandle(pool);
        });
    }

    @Override
    public long deviceGetDefaultMemPool(int device) {
        return calls.get(CudaFunction.DEVICE_GET_DEFAULT_MEM_POOL, on(device), () -> {
            final MemoryPool pool = calls.device(device).defaultPool;
            if (pool == null) {
                throw new CallFailure(CudaResult.NOT_SUPPORTED);
            }
            return pool.handle;
        });
    }

    @Override
    public long memPoolGetAttribute(int device, long pool, PoolAttribute attribute) {
        return calls.get(
                CudaFunction.MEM_POOL_GET_ATTRIBUTE,
                on(device, "pool=%#x, attribute=%s", pool, attribute),
                () -> pool(pool, device).get(attribute));
    }

    @Override
    public void memPoolSetAttribute(int device, long pool, PoolAttribute attribute, long value) {
        calls.run(
                CudaFunction.MEM_POOL_SET_ATTRIBUTE,
                on(device, "pool=%#x, attribute=%s, value=%d", pool, attribute, value),
                () -> pool(pool, device).set(attribute, value));
    }

    @Override
    public void memPoolSetAccess(int device, long pool, int accessingDevice, MemoryAccess access) {
        calls.run(
                CudaFunction.MEM_POOL_SET_ACCESS,
                on(device, "pool=%#x, accessingDevice=%d, access=%s", pool, accessingDevice, access),
                () -> {
                    final MemoryPool target = pool(pool, device);
                    final Device accessing = calls.device(accessingDevice);
                    if (accessingDevice == device && access != MemoryAccess.READ_WRITE) {
                        throw new CallFailure(CudaResult.INVALID_VALUE);
                    }
                    if (accessingDevice != device && !accessing.hasPeerAccess) {
                        throw new CallFailure(CudaResult.PEER_ACCESS_UNSUPPORTED);
                    }
                    target.access.put(accessing, access);
                });
    }

    @Override
    public void memPoolTrimTo(int device, long pool, long minBytesToKeep) {
        calls.run(
                CudaFunction.MEM_POOL_TRIM_TO, on(device, "pool=%#x, minBytesToKeep=%d", pool, minBytesToKeep), () -> {
                    if (minBytesToKeep < 0) {
                        throw new CallFailure(CudaResult.INVALID_VALUE);
                    }
                    pool(pool, device).trimTo(minBytesToKeep);
                });
    }

    @Override
    public long memAllocFromPoolAsync(int device, long pool, long byteSize, long stream) {
        return calls.get(
                CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC,
                on(device, "pool=%#x, byteSize=%d, stream=%#x", pool, byteSize, stream),
                () -> {
                    final StreamQueue queue = streams.queue(calls.device(device), stream);
                    queue.requireNotCaptured(
                            CudaResult.STREAM_CAPTURE_UNSUPPORTED); // a graph's memory is not simulated
                    final Tile tile = pool(pool, device)
                            .allocate(
                                    byteSize,
                                    queue,
                                    (other, position) -> scheduler.waitFor(queue, other, position, Map.of()));
                    memory.add(AddressedMemory.ofPool(calls.number(), calls.device(device), tile));
                    scheduler.submit(
                            queue,
                            new Site(CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC.functionName(), queue),
                            List.of(new Span(tile.address, tile.byteSize, true)),
                            () -> {});
                    return tile.address;
                });
    }

    @Override
    public void memFreeAsync(int device, long address, long stream) {
        calls.run(CudaFunction.MEM_FREE_ASYNC, on(device, "address=%#x, stream=%#x", address, stream), () -> {
            final StreamQueue queue = streams.queue(calls.device(device), stream);
            queue.requireNotCaptured(CudaResult.INVALID_VALUE);
            final AddressedMemory block = memory.requireFreeable(calls.device(device), address);
            final Tile tile = block.tile;
            if (tile == null) {
                throw new CallFailure(CudaResult.INVALID_VALUE);
            }
            final Span span = new Span(address, block.byteSize, true);
            final Site site = new Site(CudaFunction.MEM_FREE_ASYNC.functionName(), queue);
            hazards.requireOrdered(queue, site, List.of(span));
            memory.freeIntoPool(block, site);
            final MemoryPool pool = tile.segment.pool;
            pool.free(tile, queue, queue.submitted + 1);
            scheduler.submit(queue, site, List.of(span), () -> pool.freeHasTakenEffect(block.byteSize));
        });
    }
}
