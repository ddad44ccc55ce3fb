package allocator.conformance.subject;

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
 * Writes patterns to memory and verifies them: through segments where the host can access the memory, by copies where
 * it cannot. A pattern is identified by a number; each word of it depends on the number and on the word's index, so
 * that the bytes of another block are not mistaken for it.
 */
public abstract class Contents {
    /** Host memory that the kit allocates through the JDK. */
    public static final MemoryInfo HOST = new MemoryInfo(
            "ConformanceHost", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 1, AllocatorType.DEVICE);

    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED;

    /** Writes a pattern. */
    public abstract void fill(long address, long byteSize, long pattern);

    /** Compares memory with a pattern; returns a description of the first difference, or empty. */
    public abstract Optional<String> fault(long address, long byteSize, long pattern);

    /** Fails the test unless memory holds a pattern; the message begins with {@code when}. */
    public final void verify(long address, long byteSize, long pattern, String when) {
        fault(address, byteSize, pattern).ifPresent(fault -> Expect.that(false, "%s %s", when, fault));
    }

    /** Returns access to the contents of an allocator's memory; empty if neither segments nor copies reach it. */
    public static Optional<Contents> of(Subject subject, Allocator allocator) {
        if (allocator instanceof HostAccessibleAllocator host) {
            return Optional.of(new Direct(host));
        }
        return transfer(subject, allocator.info()).map(transfer -> new Copied(transfer, allocator.info()));
    }

    /** Returns the provider's copies between host memory and a memory, if it offers both directions. */
    public static Optional<DataTransfer> transfer(Subject subject, MemoryInfo memory) {
        return subject.factory()
                .dataTransfer()
                .filter(transfer -> transfer.canCopy(HOST, memory) && transfer.canCopy(memory, HOST));
    }

    /** Writes a pattern to a segment. */
    public static void write(MemorySegment segment, long pattern) {
        final long words = segment.byteSize() / Long.BYTES;
        for (long i = 0; i < words; i++) {
            segment.set(WORD, i * Long.BYTES, word(pattern, i));
        }
        final long rest = word(pattern, words);
        for (long i = words * Long.BYTES; i < segment.byteSize(); i++) {
            segment.set(ValueLayout.JAVA_BYTE, i, (byte) (rest >>> (i % Long.BYTES * Byte.SIZE)));
        }
    }

    /** Returns a description of the first difference between a segment and a pattern, or empty. */
    public static Optional<String> difference(MemorySegment segment, long pattern) {
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
        return "byte " + offset + " of " + byteSize + " differs from what was written there";
    }

    /** Spreads the bits of pattern and index over the word (the finalizer of SplitMix64). */
    private static long word(long pattern, long index) {
        long z = pattern * 0x9E3779B97F4A7C15L + index;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    /** Memory that the host can access. */
    private static final class Direct extends Contents {
        private final HostAccessibleAllocator allocator;

        Direct(HostAccessibleAllocator allocator) {
            this.allocator = allocator;
        }

        @Override
        public void fill(long address, long byteSize, long pattern) {
            write(segment(address, byteSize), pattern);
        }

        @Override
        public Optional<String> fault(long address, long byteSize, long pattern) {
            return difference(segment(address, byteSize), pattern);
        }

        /** Limits the segment to the requested size, whatever the allocator returns. */
        private MemorySegment segment(long address, long byteSize) {
            return allocator.segment(address, byteSize).asSlice(0, byteSize);
        }
    }

    /** Memory that only copies can access. */
    private static final class Copied extends Contents {
        private final DataTransfer transfer;
        private final MemoryInfo memory;

        Copied(DataTransfer transfer, MemoryInfo memory) {
            this.transfer = transfer;
            this.memory = memory;
        }

        @Override
        public void fill(long address, long byteSize, long pattern) {
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
        public Optional<String> fault(long address, long byteSize, long pattern) {
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
