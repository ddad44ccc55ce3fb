package allocator.cuda.simulated;

import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.driver.CudaMemoryUsage;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;
import allocator.cuda.simulated.StreamQueue.Span;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * A CUDA driver with devices that exist in this object only, for tests and for proving a provider without a GPU.
 *
 * <p>It answers as a real driver does, checked by one suite of tests on both, and beyond that:
 *
 * <ul>
 *   <li>{@linkplain Builder#withLaggingStreams Streams may lag}: work is then done only by {@link #advance},
 *       {@link #advanceAll}, or by a call that waits for it. Otherwise each piece is done when it is given.
 *   <li>Work on memory that other work still has in flight, with no event between their streams, is a
 *       {@link StreamHazardException}. Streams that do not lag have nothing in flight.
 *   <li>Any call {@linkplain #failOnCall(long, int) can be made to fail}, and calls are counted.
 *   <li>A destroyed handle or a wrong device is always noticed. Handles and addresses are used again at once, stream
 *       ids never.
 *   <li>{@link #close} lists what was not freed.
 * </ul>
 *
 * <p>Device memory has contents, unless {@linkplain Builder#withoutContents left out}, which take up space only where
 * something was written. Pinned and managed memory is memory of this process. Copies from pageable host memory read it
 * when they are given, copies to it wait for the stream. No device address is ever a host address.
 */
public final class SimulatedCudaDriver
        implements CudaDriver, CudaDevices, CudaMemory, CudaPools, CudaAddressRanges, CudaStreams, AutoCloseable {
    private final ReentrantLock lock = new ReentrantLock();
    private final int driverVersion;
    private final boolean hasContents;
    private final SimulatedDevice[] devices;
    private final Streams streams;
    private final FailurePlan plan = new FailurePlan();
    private final List<String> hazards = new ArrayList<>();

    private final AddressMap memory = new AddressMap();
    private final AddressRanges ranges;

    /** Live when its context was destroyed. */
    private final List<String> lost = new ArrayList<>();

    private boolean isClosed;

    private SimulatedCudaDriver(Builder builder) {
        driverVersion = builder.driverVersion;
        hasContents = builder.hasContents;
        streams = new Streams(lock, builder.streamsLag, hazards::add);
        ranges = new AddressRanges(memory, streams);
        devices = new SimulatedDevice[builder.deviceCount];
        for (int device = 0; device < devices.length; device++) {
            final CudaDeviceInfo info = new CudaDeviceInfo(
                    device,
                    "Simulated device",
                    new UUID(0x5117_0000_0000_4000L, 0x8000_0000_0000_0000L + device),
                    "0000:%02x:00.0".formatted(device + 1),
                    builder.byteSize,
                    90,
                    builder.hasMemoryPools,
                    builder.hasVirtualMemory,
                    true,
                    true);
            devices[device] = new SimulatedDevice(info, hasContents, streams.newHandle());
        }
    }

    /**
     * Returns a builder of one device with 16 GiB, contents, and streams that do not lag.
     *
     * @return a new builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /** What the simulated machine is like. */
    public static final class Builder {
        private int deviceCount = 1;
        private long byteSize = 16L << 30;
        private int driverVersion = 13_000;
        private boolean streamsLag;
        private boolean hasContents = true;
        private boolean hasMemoryPools = true;
        private boolean hasVirtualMemory = true;

        private Builder() {}

        /**
         * Sets the number of devices.
         *
         * @param deviceCount from 0 to 16
         * @return this
         * @throws IllegalArgumentException if it is out of range
         */
        public Builder withDevices(int deviceCount) {
            if (deviceCount < 0 || deviceCount > 16) {
                throw new IllegalArgumentException("deviceCount=" + deviceCount + " is not in 0..16");
            }
            this.deviceCount = deviceCount;
            return this;
        }

        /**
         * Sets each device's memory.
         *
         * @param byteSize in bytes, positive
         * @return this
         * @throws IllegalArgumentException if it is not positive
         */
        public Builder withMemory(long byteSize) {
            if (byteSize <= 0) {
                throw new IllegalArgumentException("byteSize=" + byteSize + " is not positive");
            }
            this.byteSize = byteSize;
            return this;
        }

        /**
         * Sets what {@link #driverVersion} answers.
         *
         * @param driverVersion for instance {@code 13000}
         * @return this
         */
        public Builder withDriverVersion(int driverVersion) {
            this.driverVersion = driverVersion;
            return this;
        }

        /**
         * Lets work wait until the clock is advanced or a call waits for it.
         *
         * @return this
         */
        public Builder withLaggingStreams() {
            streamsLag = true;
            return this;
        }

        /**
         * Leaves contents out, for speed: copies and fills then do nothing, but are checked as ever.
         *
         * @return this
         */
        public Builder withoutContents() {
            hasContents = false;
            return this;
        }

        /**
         * Leaves out stream-ordered allocation.
         *
         * @return this
         */
        public Builder withoutMemoryPools() {
            hasMemoryPools = false;
            return this;
        }

        /**
         * Leaves out address ranges.
         *
         * @return this
         */
        public Builder withoutVirtualMemory() {
            hasVirtualMemory = false;
            return this;
        }

        /**
         * Builds the driver.
         *
         * @return a new driver
         */
        public SimulatedCudaDriver build() {
            return new SimulatedCudaDriver(this);
        }
    }

    // The test's side

    /**
     * Lets a stream do what it can without other streams.
     *
     * @param stream a stream, not a default stream
     * @return how many pieces of work it did
     * @throws IllegalArgumentException if there is no such stream
     */
    public int advance(long stream) {
        lock.lock();
        try {
            return streams.advance(streams.find(stream));
        } catch (Refused e) {
            throw new IllegalArgumentException("no stream %#x".formatted(stream), e);
        } finally {
            lock.unlock();
        }
    }

    /** Lets all streams, those of destroyed handles too, do all their work. */
    public void advanceAll() {
        lock.lock();
        try {
            streams.drainAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lets a call fail, once.
     *
     * @param number which call from now on, of any function; {@code 1} is the next
     * @param result what it fails with, a constant of {@link CudaResult}
     */
    public void failOnCall(long number, int result) {
        withPlan(() -> plan.failOnCall(number, result));
    }

    /**
     * Lets a call of one function fail, once.
     *
     * @param function the function
     * @param number which of its calls from now on; {@code 1} is the next
     * @param result what it fails with, a constant of {@link CudaResult}
     */
    public void failOnCall(CudaFunction function, long number, int result) {
        withPlan(() -> plan.failOnCall(function, number, result));
    }

    /**
     * Lets every call of a function fail, until {@link #clearFailures}.
     *
     * @param function the function
     * @param result what it fails with, a constant of {@link CudaResult}
     */
    public void failAlways(CudaFunction function, int result) {
        withPlan(() -> plan.failAlways(function, result));
    }

    /** Lets no call fail any more. */
    public void clearFailures() {
        withPlan(plan::clear);
    }

    private void withPlan(Runnable change) {
        lock.lock();
        try {
            change.run();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns how many calls were made, of all functions, failed ones included.
     *
     * @return the number of calls
     */
    public long calls() {
        lock.lock();
        try {
            return plan.total();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns how many calls of a function were made, failed ones included.
     *
     * @param function the function
     * @return the number of calls
     */
    public long calls(CudaFunction function) {
        lock.lock();
        try {
            return plan.calls(function);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns the messages of all hazards so far.
     *
     * @return a line each
     */
    public List<String> hazards() {
        lock.lock();
        try {
            return List.copyOf(hazards);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns what is allocated, created or retained now, or was when its context was destroyed.
     *
     * @return a line each, with the function and the number of the call that made it
     */
    public List<String> leaks() {
        lock.lock();
        try {
            final List<String> leaks = new ArrayList<>(lost);
            memory.all().forEach(block -> leaks.add(block.toString()));
            leaks.addAll(ranges.live());
            for (SimulatedDevice device : devices) {
                leaks.addAll(streams.live(device.info.ordinal()));
                device.pools.values().stream()
                        .filter(pool -> pool != device.defaultPool)
                        .forEach(
                                pool -> leaks.add("device %d: pool %#x".formatted(device.info.ordinal(), pool.handle)));
                if (device.retained > 0) {
                    leaks.add(
                            "device %d: context, retained %d times".formatted(device.info.ordinal(), device.retained));
                }
            }
            return leaks;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Ends the simulation; every later call fails with {@code CUDA_ERROR_DEINITIALIZED}.
     *
     * @throws IllegalStateException if there were hazards or there are leaks, with all of them
     */
    @Override
    public void close() {
        lock.lock();
        try {
            if (isClosed) {
                return;
            }
            streams.drainAll();
            final List<String> faults = new ArrayList<>(hazards);
            leaks().forEach(leak -> faults.add("leaked: " + leak));
            isClosed = true;
            memory.all().forEach(this::freeHostMemory);
            memory.clear();
            if (!faults.isEmpty()) {
                throw new IllegalStateException(String.join(System.lineSeparator(), faults));
            }
        } finally {
            lock.unlock();
        }
    }

    // Every call

    private void call(CudaFunction function, int device, Supplier<String> arguments, Runnable body) {
        answer(function, device, arguments, () -> {
            body.run();
            return 0L;
        });
    }

    private long answer(CudaFunction function, int device, Supplier<String> arguments, Supplier<Long> body) {
        return withoutContext(function, device, arguments, () -> {
            if (devices[device].retained == 0) {
                throw new Refused(CudaResult.INVALID_CONTEXT);
            }
            return body.get();
        });
    }

    private long withoutContext(CudaFunction function, int device, Supplier<String> arguments, Supplier<Long> body) {
        lock.lock();
        try {
            if (isClosed) {
                throw new Refused(CudaResult.DEINITIALIZED);
            }
            if (streams.isInHostFunction()) {
                throw new Refused(CudaResult.NOT_PERMITTED);
            }
            plan.count(function);
            requireDevice(device);
            return body.get();
        } catch (Refused e) {
            throw new CudaException(function, arguments.get(), e.result);
        } finally {
            lock.unlock();
        }
    }

    private void requireDevice(int device) {
        if (device < 0 || device >= devices.length) {
            throw new Refused(CudaResult.INVALID_DEVICE);
        }
    }

    private StreamQueue queue(long stream, int device) {
        final StreamQueue defaultStream = devices[device].defaultStream;
        return stream == 0 && defaultStream != null ? defaultStream : streams.find(stream, device);
    }

    // Devices

    @Override
    public CudaDevices devices() {
        return this;
    }

    @Override
    public CudaMemory memory() {
        return this;
    }

    @Override
    public CudaPools pools() {
        return this;
    }

    @Override
    public CudaAddressRanges addressRanges() {
        return this;
    }

    @Override
    public CudaStreams streams() {
        return this;
    }

    @Override
    public int driverVersion() {
        return driverVersion;
    }

    @Override
    public int count() {
        return devices.length;
    }

    @Override
    public CudaDeviceInfo info(int device) {
        try {
            requireDevice(device);
            return devices[device].info;
        } catch (Refused e) {
            throw new CudaException(CudaFunction.DEVICE_GET, "device=" + device, e.result);
        }
    }

    @Override
    public void primaryContextRetain(int device) {
        withoutContext(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, device, () -> "device=" + device, () -> {
            final SimulatedDevice target = devices[device];
            if (target.retained++ == 0) {
                target.defaultStream = streams.createDefault(device);
            }
            return 0L;
        });
    }

    @Override
    public void primaryContextRelease(int device) {
        call(CudaFunction.DEVICE_PRIMARY_CTX_RELEASE, device, () -> "device=" + device, () -> {
            final SimulatedDevice target = devices[device];
            if (target.retained == 1) {
                streams.drainDevice(device);
                destroyContext(target);
            }
            target.retained--;
        });
    }

    private void destroyContext(SimulatedDevice device) {
        final int ordinal = device.info.ordinal();
        final List<Block> live = memory.all().stream()
                .filter(block -> block.device == ordinal && block.tile == null && block.mapped == null)
                .toList();
        for (Block block : live) {
            lost.add(block.toString());
            giveBack(block);
        }
        lost.addAll(streams.live(ordinal));
        streams.destroyAll(ordinal);
        device.defaultStream = null;
    }

    @Override
    public void ctxSynchronize(int device) {
        call(CudaFunction.CTX_SYNCHRONIZE, device, () -> "device=" + device, () -> {
            streams.drainDevice(device);
            synchronizePools(device);
        });
    }

    private void synchronizePools(int device) {
        devices[device].pools.values().forEach(Pool::synchronize);
    }

    // Memory

    @Override
    public long memAlloc(int device, long byteSize) {
        return answer(
                CudaFunction.MEM_ALLOC, device, () -> "device=%d, byteSize=%d".formatted(device, byteSize), () -> {
                    final SimulatedDevice target = devices[device];
                    final long rounded = Sizes.roundRequest(byteSize, Sizes.MEM_ALLOC_ALIGNMENT);
                    target.takeMemory(rounded);
                    final long address = target.addresses.take(rounded, Sizes.MEM_ALLOC_ALIGNMENT);
                    add(CudaFunction.MEM_ALLOC, device, address, rounded, target.newBytes(rounded));
                    return address;
                });
    }

    private void add(CudaFunction origin, int device, long address, long byteSize, Bytes bytes) {
        memory.add(new Block(origin, plan.total(), device, address, byteSize, bytes, 0, null, null));
    }

    @Override
    public void memFree(int device, long address) {
        call(CudaFunction.MEM_FREE, device, () -> "device=%d, address=%#x".formatted(device, address), () -> {
            requireFreeable(device, address);
            streams.drainDevice(device);
            giveBack(requireFreeable(device, address));
        });
    }

    private Block requireFreeable(int device, long address) {
        final Block block = memory.at(address);
        if (block == null
                || block.device != device
                || block.mapped != null
                || block.origin == CudaFunction.MEM_HOST_ALLOC) {
            throw new Refused(CudaResult.INVALID_VALUE);
        }
        return block;
    }

    private void giveBack(Block block) {
        memory.remove(block);
        final SimulatedDevice device = devices[block.device];
        if (block.tile != null) {
            block.tile.isFree = true;
            block.tile.segment.pool.freeHasTakenEffect(block.byteSize);
        } else if (block.origin == CudaFunction.MEM_ALLOC) {
            device.giveBackMemory(block.byteSize);
            device.addresses.giveBack(block.address, block.byteSize);
        } else {
            freeHostMemory(block);
        }
    }

    private void freeHostMemory(Block block) {
        if (block.origin == CudaFunction.MEM_HOST_ALLOC || block.origin == CudaFunction.MEM_ALLOC_MANAGED) {
            HostMemory.free(block.address);
        }
    }

    @Override
    public CudaMemoryUsage memGetInfo(int device) {
        final long free = answer(
                CudaFunction.MEM_GET_INFO, device, () -> "device=" + device, () -> devices[device].freeByteSize());
        return new CudaMemoryUsage(free, devices[device].info.totalByteSize());
    }

    @Override
    public long memAllocManaged(int device, long byteSize) {
        return answer(
                CudaFunction.MEM_ALLOC_MANAGED,
                device,
                () -> "device=%d, byteSize=%d".formatted(device, byteSize),
                () -> allocateHost(CudaFunction.MEM_ALLOC_MANAGED, device, byteSize));
    }

    @Override
    public long memHostAlloc(int device, long byteSize, boolean isPortable) {
        return answer(
                CudaFunction.MEM_HOST_ALLOC,
                device,
                () -> "device=%d, byteSize=%d, isPortable=%b".formatted(device, byteSize, isPortable),
                () -> allocateHost(CudaFunction.MEM_HOST_ALLOC, device, byteSize));
    }

    private long allocateHost(CudaFunction origin, int device, long byteSize) {
        final long rounded = Sizes.roundRequest(byteSize, Sizes.MEM_ALLOC_ALIGNMENT);
        final long address = HostMemory.allocate(rounded);
        add(origin, device, address, rounded, hasContents ? Bytes.Host.at(address, rounded) : Bytes.None.INSTANCE);
        return address;
    }

    @Override
    public void memFreeHost(int device, long address) {
        call(CudaFunction.MEM_FREE_HOST, device, () -> "device=%d, address=%#x".formatted(device, address), () -> {
            requirePinned(address);
            streams.drainDevice(device);
            giveBack(requirePinned(address));
        });
    }

    private Block requirePinned(long address) {
        final Block block = memory.at(address);
        if (block == null || block.origin != CudaFunction.MEM_HOST_ALLOC) {
            throw new Refused(CudaResult.INVALID_VALUE);
        }
        return block;
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
        call(
                function,
                device,
                () -> "device=%d, address=%#x, value=%d, byteSize=%d, stream=%#x"
                        .formatted(device, address, value, byteSize, stream),
                () -> {
                    final StreamQueue queue = queue(stream, device);
                    final List<Piece> target = find(device, address, byteSize, MemoryAccess.READ_WRITE);
                    streams.give(
                            queue,
                            function.functionName(),
                            List.of(new Span(address, byteSize, true)),
                            () -> target.forEach(piece -> piece.fill(value)));
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
        call(
                function,
                targetDevice,
                () -> "targetDevice=%d, target=%#x, sourceDevice=%d, source=%#x, byteSize=%d, stream=%#x"
                        .formatted(targetDevice, target, sourceDevice, source, byteSize, stream),
                () -> {
                    requireDevice(sourceDevice);
                    if (devices[sourceDevice].retained == 0) {
                        throw new Refused(CudaResult.INVALID_CONTEXT);
                    }
                    final StreamQueue queue = queue(stream, targetDevice);
                    final boolean isFromHost =
                            function == CudaFunction.MEMCPY_HTOD || function == CudaFunction.MEMCPY_HTOD_ASYNC;
                    final boolean isToHost =
                            function == CudaFunction.MEMCPY_DTOH || function == CudaFunction.MEMCPY_DTOH_ASYNC;
                    final boolean isFromPageable = isFromHost && memory.around(source) == null;
                    final boolean isToPageable = isToHost && memory.around(target) == null;
                    final List<Piece> to = isToPageable
                            ? pageable(target, byteSize)
                            : find(targetDevice, target, byteSize, MemoryAccess.READ_WRITE);
                    final List<Piece> from = isFromPageable
                            ? snapshot(pageable(source, byteSize), byteSize)
                            : find(sourceDevice, source, byteSize, MemoryAccess.READ);
                    streams.give(
                            queue,
                            function.functionName(),
                            List.of(new Span(target, byteSize, true), new Span(source, byteSize, false)),
                            () -> Piece.copy(from, to, byteSize));
                    final boolean isSynchronous =
                            function == CudaFunction.MEMCPY_HTOD || function == CudaFunction.MEMCPY_DTOH;
                    if (isSynchronous || isToPageable) {
                        streams.drain(queue, queue.given);
                    }
                });
    }

    /** The memory behind device addresses; memory that was freed into a pool is a hazard, not a mere mistake. */
    private List<Piece> find(int device, long address, long byteSize, MemoryAccess access) {
        if (memory.around(address) == null) {
            for (Pool pool : devices[device].pools.values()) {
                if (pool.holds(address)) {
                    throw streams.hazard("work on device %d touches %#x, which was freed".formatted(device, address));
                }
            }
        }
        return memory.find(device, address, byteSize, access);
    }

    private List<Piece> pageable(long address, long byteSize) {
        if (byteSize < 0 || AddressSpace.isDeviceAddress(address)) {
            throw new Refused(CudaResult.INVALID_VALUE);
        }
        return byteSize == 0
                ? List.of()
                : List.of(new Piece(hasContents ? Bytes.Host.at(address, byteSize) : Bytes.None.INSTANCE, 0, byteSize));
    }

    private List<Piece> snapshot(List<Piece> source, long byteSize) {
        if (!hasContents || byteSize == 0) {
            return source;
        }
        final List<Piece> staged = List.of(new Piece(new Bytes.Sparse(byteSize), 0, byteSize));
        Piece.copy(source, staged, byteSize);
        return staged;
    }

    // Pools

    @Override
    public long memPoolCreate(int device) {
        return answer(CudaFunction.MEM_POOL_CREATE, device, () -> "device=" + device, () -> {
            requireSupport(devices[device].info.hasMemoryPools());
            final Pool pool = new Pool(streams.newHandle(), devices[device]);
            devices[device].pools.put(pool.handle, pool);
            return pool.handle;
        });
    }

    private static void requireSupport(boolean isSupported) {
        if (!isSupported) {
            throw new Refused(CudaResult.NOT_SUPPORTED);
        }
    }

    private Pool pool(long handle, int device) {
        final Pool pool = devices[device].pools.get(handle);
        if (pool == null) {
            throw new Refused(CudaResult.INVALID_VALUE);
        }
        return pool;
    }

    @Override
    public void memPoolDestroy(int device, long pool) {
        call(CudaFunction.MEM_POOL_DESTROY, device, () -> "device=%d, pool=%#x".formatted(device, pool), () -> {
            final Pool target = pool(pool, device);
            if (target == devices[device].defaultPool) {
                throw new Refused(CudaResult.INVALID_VALUE);
            }
            target.destroy();
            devices[device].pools.remove(pool);
            streams.returnHandle(pool);
        });
    }

    @Override
    public long deviceGetDefaultMemPool(int device) {
        return answer(CudaFunction.DEVICE_GET_DEFAULT_MEM_POOL, device, () -> "device=" + device, () -> {
            final Pool pool = devices[device].defaultPool;
            if (pool == null) {
                throw new Refused(CudaResult.NOT_SUPPORTED);
            }
            return pool.handle;
        });
    }

    @Override
    public long memPoolGetAttribute(int device, long pool, PoolAttribute attribute) {
        return answer(
                CudaFunction.MEM_POOL_GET_ATTRIBUTE,
                device,
                () -> "device=%d, pool=%#x, attribute=%s".formatted(device, pool, attribute),
                () -> pool(pool, device).get(attribute));
    }

    @Override
    public void memPoolSetAttribute(int device, long pool, PoolAttribute attribute, long value) {
        call(
                CudaFunction.MEM_POOL_SET_ATTRIBUTE,
                device,
                () -> "device=%d, pool=%#x, attribute=%s, value=%d".formatted(device, pool, attribute, value),
                () -> pool(pool, device).set(attribute, value));
    }

    @Override
    public void memPoolSetAccess(int device, long pool, int accessingDevice, MemoryAccess access) {
        call(
                CudaFunction.MEM_POOL_SET_ACCESS,
                device,
                () -> "device=%d, pool=%#x, accessingDevice=%d, access=%s"
                        .formatted(device, pool, accessingDevice, access),
                () -> {
                    pool(pool, device);
                    requireDevice(accessingDevice);
                    if (accessingDevice == device && access != MemoryAccess.READ_WRITE) {
                        throw new Refused(CudaResult.INVALID_VALUE);
                    }
                });
    }

    @Override
    public void memPoolTrimTo(int device, long pool, long minBytesToKeep) {
        call(
                CudaFunction.MEM_POOL_TRIM_TO,
                device,
                () -> "device=%d, pool=%#x, minBytesToKeep=%d".formatted(device, pool, minBytesToKeep),
                () -> {
                    if (minBytesToKeep < 0) {
                        throw new Refused(CudaResult.INVALID_VALUE);
                    }
                    pool(pool, device).releaseDownTo(minBytesToKeep);
                });
    }

    @Override
    public long memAllocFromPoolAsync(int device, long pool, long byteSize, long stream) {
        return answer(
                CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC,
                device,
                () -> "device=%d, pool=%#x, byteSize=%d, stream=%#x".formatted(device, pool, byteSize, stream),
                () -> {
                    final StreamQueue queue = queue(stream, device);
                    final Tile tile = pool(pool, device)
                            .allocate(
                                    byteSize,
                                    queue,
                                    (other, position) -> streams.waitFor(queue, other, position, Map.of()));
                    final Pool.Segment segment = tile.segment;
                    memory.add(new Block(
                            CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC,
                            plan.total(),
                            device,
                            tile.address,
                            tile.byteSize,
                            segment.bytes,
                            tile.address - segment.address,
                            null,
                            tile));
                    streams.give(
                            queue,
                            CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC.functionName(),
                            List.of(new Span(tile.address, tile.byteSize, true)),
                            () -> {});
                    return tile.address;
                });
    }

    @Override
    public void memFreeAsync(int device, long address, long stream) {
        call(
                CudaFunction.MEM_FREE_ASYNC,
                device,
                () -> "device=%d, address=%#x, stream=%#x".formatted(device, address, stream),
                () -> {
                    final StreamQueue queue = queue(stream, device);
                    final Block block = requireFreeable(device, address);
                    final Tile tile = block.tile;
                    if (tile == null) {
                        throw new Refused(CudaResult.INVALID_VALUE);
                    }
                    final Span span = new Span(address, block.byteSize, true);
                    final String name = CudaFunction.MEM_FREE_ASYNC.functionName();
                    streams.requireOrdered(queue, name, List.of(span));
                    memory.remove(block);
                    tile.free(queue, queue.given + 1);
                    final Pool pool = tile.segment.pool;
                    streams.give(queue, name, List.of(span), () -> pool.freeHasTakenEffect(block.byteSize));
                });
    }

    // Address ranges

    @Override
    public long memGetAllocationGranularity(int device) {
        return answer(CudaFunction.MEM_GET_ALLOCATION_GRANULARITY, device, () -> "device=" + device, () -> {
            requireSupport(devices[device].info.hasVirtualMemory());
            return Sizes.PHYSICAL_GRANULARITY;
        });
    }

    @Override
    public long memAddressReserve(int device, long byteSize) {
        return answer(
                CudaFunction.MEM_ADDRESS_RESERVE,
                device,
                () -> "device=%d, byteSize=%d".formatted(device, byteSize),
                () -> {
                    requireSupport(devices[device].info.hasVirtualMemory());
                    return ranges.reserve(devices[device], byteSize);
                });
    }

    @Override
    public void memAddressFree(int device, long address, long byteSize) {
        call(
                CudaFunction.MEM_ADDRESS_FREE,
                device,
                () -> "device=%d, address=%#x, byteSize=%d".formatted(device, address, byteSize),
                () -> ranges.free(devices[device], address, byteSize));
    }

    @Override
    public long memCreate(int device, long byteSize) {
        return answer(
                CudaFunction.MEM_CREATE, device, () -> "device=%d, byteSize=%d".formatted(device, byteSize), () -> {
                    requireSupport(devices[device].info.hasVirtualMemory());
                    return ranges.create(devices[device], byteSize);
                });
    }

    @Override
    public void memRelease(int device, long handle) {
        call(
                CudaFunction.MEM_RELEASE,
                device,
                () -> "device=%d, handle=%#x".formatted(device, handle),
                () -> ranges.release(handle));
    }

    @Override
    public void memMap(int device, long address, long byteSize, long handle) {
        call(
                CudaFunction.MEM_MAP,
                device,
                () -> "device=%d, address=%#x, byteSize=%d, handle=%#x".formatted(device, address, byteSize, handle),
                () -> ranges.map(plan.total(), address, byteSize, handle));
    }

    @Override
    public void memUnmap(int device, long address, long byteSize) {
        call(
                CudaFunction.MEM_UNMAP,
                device,
                () -> "device=%d, address=%#x, byteSize=%d".formatted(device, address, byteSize),
                () -> ranges.unmap(address, byteSize));
    }

    @Override
    public void memSetAccess(int device, long address, long byteSize, MemoryAccess access) {
        call(
                CudaFunction.MEM_SET_ACCESS,
                device,
                () -> "device=%d, address=%#x, byteSize=%d, access=%s".formatted(device, address, byteSize, access),
                () -> ranges.setAccess(address, byteSize, access));
    }

    // Streams and events

    @Override
    public long streamCreate(int device) {
        return answer(
                CudaFunction.STREAM_CREATE, device, () -> "device=" + device, () -> streams.create(device).handle);
    }

    @Override
    public void streamDestroy(int device, long stream) {
        call(
                CudaFunction.STREAM_DESTROY,
                device,
                () -> "device=%d, stream=%#x".formatted(device, stream),
                () -> streams.destroy(streams.find(stream, device)));
    }

    @Override
    public void streamSynchronize(int device, long stream) {
        call(CudaFunction.STREAM_SYNCHRONIZE, device, () -> "device=%d, stream=%#x".formatted(device, stream), () -> {
            final StreamQueue queue = queue(stream, device);
            streams.drain(queue, queue.given);
            synchronizePools(device);
        });
    }

    @Override
    public boolean streamQuery(int device, long stream) {
        return answer(
                        CudaFunction.STREAM_QUERY,
                        device,
                        () -> "device=%d, stream=%#x".formatted(device, stream),
                        () -> queue(stream, device).isIdle() ? 1L : 0L)
                != 0;
    }

    @Override
    public long streamGetId(int device, long stream) {
        return answer(
                CudaFunction.STREAM_GET_ID,
                device,
                () -> "device=%d, stream=%#x".formatted(device, stream),
                () -> queue(stream, device).id);
    }

    @Override
    public void streamWaitEvent(int device, long stream, long event) {
        call(
                CudaFunction.STREAM_WAIT_EVENT,
                device,
                () -> "device=%d, stream=%#x, event=%#x".formatted(device, stream, event),
                () -> streams.waitFor(queue(stream, device), streams.findEvent(event)));
    }

    @Override
    public void launchHostFunction(int device, long stream, Runnable function) {
        call(
                CudaFunction.LAUNCH_HOST_FUNC,
                device,
                () -> "device=%d, stream=%#x".formatted(device, stream),
                () -> streams.giveHostFunction(queue(stream, device), function));
    }

    @Override
    public long eventCreate(int device) {
        return answer(
                CudaFunction.EVENT_CREATE, device, () -> "device=" + device, () -> streams.createEvent(device).handle);
    }

    @Override
    public void eventDestroy(int device, long event) {
        call(
                CudaFunction.EVENT_DESTROY,
                device,
                () -> "device=%d, event=%#x".formatted(device, event),
                () -> streams.destroyEvent(streams.findEvent(event, device)));
    }

    @Override
    public void eventRecord(int device, long event, long stream) {
        call(
                CudaFunction.EVENT_RECORD,
                device,
                () -> "device=%d, event=%#x, stream=%#x".formatted(device, event, stream),
                () -> streams.record(streams.findEvent(event, device), queue(stream, device)));
    }

    @Override
    public boolean eventQuery(int device, long event) {
        return answer(
                        CudaFunction.EVENT_QUERY,
                        device,
                        () -> "device=%d, event=%#x".formatted(device, event),
                        () -> streams.findEvent(event, device).isDone() ? 1L : 0L)
                != 0;
    }

    @Override
    public void eventSynchronize(int device, long event) {
        call(CudaFunction.EVENT_SYNCHRONIZE, device, () -> "device=%d, event=%#x".formatted(device, event), () -> {
            final Streams.Event target = streams.findEvent(event, device);
            if (target.recordedOn != null) {
                streams.drain(target.recordedOn, target.recordedAt);
            }
            synchronizePools(device);
        });
    }
}
