package allocator.conformance.runner.simple;

import allocator.conformance.DeviceProbe;
import allocator.conformance.subject.Contents;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.OptionalLong;
import java.util.TreeMap;

/** A simulated device in host memory: counts calls, injects failures, and detects work on memory already returned. */
public final class SimpleDevice implements DeviceProbe {
    private static final long CAPACITY = 8L << 30;
    /** Room for providers that write past the end. */
    private static final long SLACK = 4096;

    private static final MethodHandle MALLOC = handle("malloc", ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG);

    @SuppressWarnings("restricted") // as below
    private static final MethodHandle FREE = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("free"),
                    FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG));

    /** An allocation: the address from malloc, its size, and its memory. */
    private record Allocation(long raw, long byteSize, MemoryInfo memory) {}

    private final NavigableMap<Long, Allocation> allocations = new TreeMap<>();
    private final List<String> faults = new ArrayList<>();
    private long calls;
    private long failing;
    private boolean isLastingFailure;
    private Runnable failure = () -> {};
    private boolean isLagging;

    @SuppressWarnings("restricted") // the simulated device calls native code
    private static MethodHandle handle(String name, ValueLayout result, ValueLayout argument) {
        return Linker.nativeLinker()
                .downcallHandle(
                        Linker.nativeLinker().defaultLookup().findOrThrow(name),
                        FunctionDescriptor.of(result, argument));
    }

    /** Counts a call, and fails if a failure was requested for it. */
    synchronized void call() {
        calls++;
        if (failing != 0 && (calls == failing || (isLastingFailure && calls > failing))) {
            failure.run();
        }
    }

    synchronized long take(MemoryInfo memory, long byteSize) {
        call();
        final long held =
                allocations.values().stream().mapToLong(Allocation::byteSize).sum();
        if (byteSize > CAPACITY - held) {
            throw new OutOfMemoryException("the device is full", Shortage.ofDevice(memory, byteSize, CAPACITY - held));
        }
        try {
            final long raw = (long) MALLOC.invokeExact(byteSize + memory.byteAlignment() + SLACK);
            final long address = (raw + memory.byteAlignment() - 1) & -memory.byteAlignment();
            allocations.put(address, new Allocation(raw, byteSize, memory));
            return address;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    synchronized void giveBack(long address) {
        call();
        final Allocation allocation = allocations.remove(address);
        if (allocation == null) {
            throw new IllegalStateException("the device never gave " + Long.toHexString(address));
        }
        try {
            FREE.invokeExact(allocation.raw());
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Copies between memories, of which at least one belongs to the device. */
    synchronized void copy(long source, long target, long byteSize, MemoryInfo from, MemoryInfo to) {
        if (!isThere(source, byteSize, from) || !isThere(target, byteSize, to)) {
            faults.add("a copy of " + byteSize + " bytes that touched memory already returned");
            return;
        }
        MemorySegment.copy(see(source, byteSize), 0, see(target, byteSize), 0, byteSize);
    }

    private boolean isThere(long address, long byteSize, MemoryInfo memory) {
        if (memory.isSameMemoryAs(Contents.HOST)) {
            return true;
        }
        final Map.Entry<Long, Allocation> allocation = allocations.floorEntry(address);
        return allocation != null
                && address + byteSize
                        <= allocation.getKey() + allocation.getValue().byteSize();
    }

    @SuppressWarnings("restricted") // the simulated device knows its own addresses
    static MemorySegment see(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }

    synchronized boolean isLagging() {
        return isLagging;
    }

    @Override
    public synchronized OptionalLong bytesHeld(MemoryInfo memory) {
        return OptionalLong.of(allocations.values().stream()
                .filter(allocation -> allocation.memory().equals(memory))
                .mapToLong(Allocation::byteSize)
                .sum());
    }

    @Override
    public synchronized long calls() {
        return calls;
    }

    @Override
    public synchronized void failCall(long number) {
        failCalls(number, false, () -> {
            throw new DeviceException("failed on request", null);
        });
    }

    @Override
    public synchronized boolean failCalls(long number, boolean isLasting, Runnable newFailure) {
        failing = number;
        isLastingFailure = isLasting;
        failure = newFailure;
        return true;
    }

    @Override
    public synchronized void lag(boolean lagging) {
        isLagging = lagging;
    }

    @Override
    public synchronized List<String> faults() {
        return List.copyOf(faults);
    }
}
