package allocator.conformance;

import allocator.spi.Allocator;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

/**
 * Writes and reads patterns in memory: through segments where the host reaches it, by copies where it does not. A
 * pattern is a number; each word of it depends on the number and on its place, so that no other block's bytes pass for
 * it.
 */
abstract class Contents {
    /** Host memory as the kit takes it from the JDK. */
    static final MemoryInfo HOST = new MemoryInfo(
            "ConformanceHost", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 1, AllocatorType.DEVICE);

    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED;

    /** Writes a pattern. */
    abstract void fill(long address, long byteSize, long pattern);

    /** Reads a pattern; says what differs, if anything does. */
    abstract Optional<String> fault(long address, long byteSize, long pattern);

    final void verify(long address, long byteSize, long pattern, String when) {
        fault(address, byteSize, pattern).ifPresent(fault -> Expect.that(false, "%s %s", when, fault));
    }

    static Optional<Contents> of(Subject subject, Allocator allocator) {
        if (allocator instanceof HostAccessibleAllocator host) {
            return Optional.of(new Direct(host));
        }
        return transfer(subject, allocator.info()).map(transfer -> new Copied(transfer, allocator.info()));
    }

    /** The provider's copies between the kit's host memory and a memory, if it has them. */
    static Optional<DataTransfer> transfer(Subject subject, MemoryInfo memory) {
        return subject.factory()
                .dataTransfer()
                .filter(transfer -> transfer.canCopy(HOST, memory) && transfer.canCopy(memory, HOST));
    }

    static void write(MemorySegment segment, long pattern) {
        final long words = segment.byteSize() / Long.BYTES;
        for (long i = 0; i < words; i++) {
            segment.set(WORD, i * Long.BYTES, word(pattern, i));
        }
        final long rest = word(pattern, words);
        for (long i = words * Long.BYTES; i < segment.byteSize(); i++) {
            segment.set(ValueLayout.JAVA_BYTE, i, (byte) (rest >>> (i % Long.BYTES * Byte.SIZE)));
        }
    }

    static Optional<String> difference(MemorySegment segment, long pattern) {
        final long words = segment.byteSize() / Long.BYTES;
        for (long i = 0; i < words; i++) {
            if (segment.get(WORD, i * Long.BYTES) != word(pattern, i)) {
                return Optional.of(differs(i * Long.BYTES, segment.byteSize()));
            }
        }
        final long rest = word(pattern, words);
        for (long i = words * Long.BYTES; i < segment.byteSize(); i++) {
            if (segment.get(ValueLayout.JAVA_BYTE, i) != (byte) (rest >>> (i % Long.BYTES * Byte.SIZE))) {
                return Optional.of(differs(i, segment.byteSize()));
            }
        }
        return Optional.empty();
    }

    private static String differs(long offset, long byteSize) {
        return "byte " + offset + " of " + byteSize + " is not what was written there";
    }

    /** Spreads the bits of pattern and place over the word (the finalizer of SplitMix64). */
    private static long word(long pattern, long index) {
        long z = pattern * 0x9E3779B97F4A7C15L + index;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    /** Memory that the host reaches. */
    private static final class Direct extends Contents {
        private final HostAccessibleAllocator allocator;

        Direct(HostAccessibleAllocator allocator) {
            this.allocator = allocator;
        }

        @Override
        void fill(long address, long byteSize, long pattern) {
            write(segment(address, byteSize), pattern);
        }

        @Override
        Optional<String> fault(long address, long byteSize, long pattern) {
            return difference(segment(address, byteSize), pattern);
        }

        /** Never more than was asked for, whatever the allocator answers. */
        private MemorySegment segment(long address, long byteSize) {
            return allocator.segment(address, byteSize).asSlice(0, byteSize);
        }
    }

    /** Memory that is reached by copies only. */
    private static final class Copied extends Contents {
        private final DataTransfer transfer;
        private final MemoryInfo memory;

        Copied(DataTransfer transfer, MemoryInfo memory) {
            this.transfer = transfer;
            this.memory = memory;
        }

        @Override
        void fill(long address, long byteSize, long pattern) {
            try (Arena lifetime = Arena.ofConfined()) {
                final MemorySegment buffer = lifetime.allocate(byteSize, 64);
                write(buffer, pattern);
                transfer.copy(
                        new MemoryRange(HOST, buffer.address(), byteSize),
                        new MemoryRange(memory, address, byteSize),
                        null);
            }
        }

        @Override
        Optional<String> fault(long address, long byteSize, long pattern) {
            try (Arena lifetime = Arena.ofConfined()) {
                final MemorySegment buffer = lifetime.allocate(byteSize, 64);
                transfer.copy(
                        new MemoryRange(memory, address, byteSize),
                        new MemoryRange(HOST, buffer.address(), byteSize),
                        null);
                return difference(buffer, pattern);
            }
        }
    }
}
