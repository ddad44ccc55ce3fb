package com.example.malloc;

import allocator.provider.support.BlockCounters;
import allocator.provider.support.References;
import allocator.provider.support.References.Release;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.ForeignAddressException;
import allocator.spi.HardwareDevice;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The C library's memory: each block is one {@code malloc}. Host memory, without streams and without options. */
public final class MallocFactory implements EpFactory {
    /** What {@code malloc} aligns to on 64-bit systems. */
    private static final long ALIGNMENT = 16;

    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Malloc",
            new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT),
            ALIGNMENT,
            AllocatorType.DEVICE);

    private final References<MallocAllocator> references = new References<>();
    private boolean isClosed;

    /** Created by the service loader; touches nothing. */
    public MallocFactory() {}

    @Override
    public String name() {
        return "malloc";
    }

    @Override
    public String vendor() {
        return "Example Inc.";
    }

    @Override
    public String version() {
        return "1.0";
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.CPU, 0, 0, "host", Map.of()))
                .memory(MEMORY)
                .build());
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        if (isClosed) {
            throw new AllocatorClosedException("the factory is closed");
        }
        if (!info.equals(MEMORY)) {
            throw new UnsupportedMemoryException("malloc serves " + MEMORY + ", not " + info);
        }
        options.requireValid(List.of());
        return references.acquireExclusive(MallocAllocator::new);
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        if (references.release(allocator) == Release.UNKNOWN) {
            throw new UnknownAllocatorException("this factory has no open reference to " + allocator);
        }
        ((MallocAllocator) allocator).close();
    }

    @Override
    public synchronized void close() {
        if (references.count() > 0) {
            throw new IllegalStateException(references.count() + " allocators are not released");
        }
        isClosed = true;
    }

    /** The two functions. Bound at the first allocation, which is the first use of native code (F-01). */
    private static final class C {
        private static final Linker LINKER = Linker.nativeLinker();
        private static final MethodHandle MALLOC =
                bind("malloc", FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
        private static final MethodHandle FREE = bind("free", FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG));

        private static MethodHandle bind(String name, FunctionDescriptor type) {
            return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), type);
        }

        static long malloc(long byteSize) {
            try {
                return (long) MALLOC.invokeExact(byteSize);
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError("a function of C throws nothing else", e);
            }
        }

        static void free(long address) {
            try {
                FREE.invokeExact(address);
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError("a function of C throws nothing else", e);
            }
        }
    }

    /** One lock guards all. */
    private static final class MallocAllocator implements HostAccessibleAllocator {
        /** The level of the contract that this class was written for. */
        private static final int LEVEL = 25;

        /** More than the address space of any system; {@code malloc} rejects far less. */
        private static final long LARGEST = 1L << 48;

        /** The requested size of each live block. */
        private final TreeMap<Long, Long> live = new TreeMap<>();

        private final BlockCounters counters = new BlockCounters();
        private boolean isClosed;

        @Override
        public synchronized long alloc(long byteSize) {
            requireOpen();
            if (byteSize < 0 || byteSize > Long.MAX_VALUE - ALIGNMENT) {
                throw new InvalidSizeException(byteSize, "is negative, or its rounding overflows");
            }
            if (byteSize == 0) {
                return 0;
            }
            final long address = byteSize > LARGEST ? 0 : C.malloc(byteSize);
            if (address == 0) {
                counters.failed();
                throw new OutOfMemoryException(
                        "malloc returned no memory",
                        Shortage.ofDevice(MEMORY, byteSize, OutOfMemoryException.UNKNOWN));
            }
            try {
                live.put(address, byteSize);
            } catch (Throwable e) { // the end of the Java heap: the block would be lost
                C.free(address);
                throw e;
            }
            counters.allocated(byteSize, byteSize); // what the block takes, and what was requested
            return address;
        }

        @Override
        public synchronized long reserve(long byteSize) {
            final long address = alloc(byteSize);
            if (address != 0) {
                counters.reserved();
            }
            return address;
        }

        @Override
        public synchronized void free(long address) {
            requireOpen();
            if (address == 0) {
                return;
            }
            final Long byteSize = live.remove(address);
            if (byteSize == null) {
                throw new ForeignAddressException(address, "no live block starts there");
            }
            counters.freed(byteSize, byteSize);
            C.free(address);
        }

        @Override
        public synchronized MemorySegment segment(long address, long byteSize) {
            requireOpen();
            if (byteSize < 0 || (address == 0 && byteSize > 0)) {
                throw new InvalidSizeException(byteSize, "is not the size of a segment there");
            }
            return MemorySegment.ofAddress(address).reinterpret(byteSize);
        }

        @Override
        public MemoryInfo info() {
            return MEMORY;
        }

        @Override
        public int spiLevel() {
            return LEVEL;
        }

        @Override
        public synchronized AllocatorStats stats() {
            requireOpen();
            final AllocatorStats counted = counters.toStats().build();
            return counters.toStats()
                    .held(counted.bytesInUse(), counted.peakBytesInUse())
                    .build();
        }

        private void requireOpen() {
            if (isClosed) {
                throw new AllocatorClosedException("the allocator is closed");
            }
        }

        private synchronized void close() {
            isClosed = true;
            live.keySet().forEach(C::free);
            live.clear();
        }
    }
}
