package allocator.onnxruntime;

import allocator.onnxruntime.support.OrtApi;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;

/** The memory that a tensor and its views share; freed with the last of them. Safe for use by any thread. */
final class TensorBlock {
    /** Memory of the program, without an alignment. */
    private static final MemoryInfo HOST = new MemoryInfo(
            "Host", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 1, AllocatorType.DEVICE);

    private final InstalledMemory memory;
    private final long address;
    private final Runnable free;

    /** The tensors that are not closed. Guarded by this. */
    private int tensors;

    /** The streams of launches that may still use the block. Guarded by this. */
    private final List<SyncStream> streams = new ArrayList<>(1);

    /**
     * @param memory the memory that it is of
     * @param address its address
     * @param free frees it; called once, when no tensor and no stream uses it
     */
    TensorBlock(InstalledMemory memory, long address, Runnable free) {
        this.memory = memory;
        this.address = address;
        this.free = free;
    }

    InstalledMemory memory() {
        return memory;
    }

    long address() {
        return address;
    }

    /** Returns whether the program can read and write the bytes without a copy by the device. */
    boolean isOfHost() {
        return memory.isOfHost();
    }

    /** Adds a tensor. */
    synchronized void open() {
        tensors++;
    }

    /**
     * Ends a tensor; the last one waits for the work that uses the block, and frees it.
     *
     * @throws allocator.spi.DeviceException if the work cannot be confirmed; the tensor is not ended
     */
    synchronized void close() {
        if (tensors == 1) {
            await();
            free.run();
        }
        tensors--;
    }

    /** Notes that work submitted to a stream uses the block. */
    synchronized void usedOn(SyncStream stream) {
        if (!streams.contains(stream)) {
            streams.add(stream);
        }
    }

    /**
     * Waits for the work that uses the block.
     *
     * @throws allocator.spi.DeviceException if it cannot be confirmed
     */
    synchronized void await() {
        while (!streams.isEmpty()) {
            final SyncStream stream = streams.getLast();
            if (!stream.hasEnded()) {
                stream.flush();
            }
            streams.removeLast();
        }
    }

    /**
     * Copies bytes of the program into the block, or back.
     *
     * @param from the first byte in the block
     * @param bytes the program's, on the heap or not
     * @param isIntoBlock the direction
     */
    void copy(long from, MemorySegment bytes, boolean isIntoBlock) {
        await();
        if (bytes.byteSize() == 0) {
            return;
        }
        if (isOfHost()) {
            final MemorySegment own = OrtApi.view(address + from, bytes.byteSize());
            if (isIntoBlock) {
                own.copyFrom(bytes);
            } else {
                bytes.copyFrom(own);
            }
        } else if (bytes.isNative()) {
            requireUsable(bytes, isIntoBlock);
            final MemoryRange host = new MemoryRange(HOST, bytes.address(), bytes.byteSize());
            final MemoryRange own = new MemoryRange(memory.info(), address + from, bytes.byteSize());
            try {
                transfer().copy(isIntoBlock ? host : own, isIntoBlock ? own : host, null);
            } finally {
                Reference.reachabilityFence(bytes);
            }
        } else {
            try (Arena scratch = Arena.ofConfined()) {
                final MemorySegment staged = scratch.allocate(bytes.byteSize());
                if (isIntoBlock) {
                    staged.copyFrom(bytes);
                }
                copy(from, staged, isIntoBlock);
                if (!isIntoBlock) {
                    bytes.copyFrom(staged);
                }
            }
        }
    }

    /** Checks what a copy by address does not. */
    private static void requireUsable(MemorySegment bytes, boolean isRead) {
        if (!bytes.scope().isAlive() || !bytes.isAccessibleBy(Thread.currentThread())) {
            throw new IllegalStateException("the segment is closed, or of another thread");
        }
        if (bytes.isReadOnly() && !isRead) {
            throw new IllegalArgumentException("the segment is read-only");
        }
    }

    /** Copies bytes of another block into this one. */
    void copy(long from, TensorBlock source, long sourceFrom, long bytes) {
        if (bytes == 0) {
            await();
        } else if (source.isOfHost()) {
            source.await();
            copy(from, OrtApi.view(source.address + sourceFrom, bytes), true);
        } else if (isOfHost()) {
            await();
            source.copy(sourceFrom, OrtApi.view(address + from, bytes), false);
        } else {
            await();
            source.await();
            transfer()
                    .copy(
                            new MemoryRange(source.memory.info(), source.address + sourceFrom, bytes),
                            new MemoryRange(memory.info(), address + from, bytes),
                            null);
        }
    }

    private DataTransfer transfer() {
        return memory.target().dataTransfer();
    }
}
