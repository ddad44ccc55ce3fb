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
import java.util.List;
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

    /** Writes a pattern to a part of a block. */
    public abstract void fill(Part part, long pattern);

    /** Compares a part of a block with a pattern; returns a description of the first difference, or empty. */
    public abstract Optional<String> fault(Part part, long pattern);

    /**
     * Bytes of a live block.
     *
     * @param address the start of the block
     * @param blockSize the requested size of the block
     * @param offset where the part begins
     * @param byteSize its size
     */
    public record Part(long address, long blockSize, long offset, long byteSize) {
        /** Returns the first and the last bytes of a block, so many of each, or all of it. */
        public static List<Part> ends(long address, long blockSize, long each) {
            return blockSize <= 2 * each
                    ? List.of(new Part(address, blockSize, 0, blockSize))
                    : List.of(
                            new Part(address, blockSize, 0, each),
                            new Part(address, blockSize, blockSize - each, each));
        }
    }

    /** Writes a pattern to a block. */
    public final void fill(long address, long byteSize, long pattern) {
        fill(new Part(address, byteSize, 0, byteSize), pattern);
    }

    /** Compares a block with a pattern; returns a description of the first difference, or empty. */
    public final Optional<String> fault(long address, long byteSize, long pattern) {
        return fault(new Part(address, byteSize, 0, byteSize), pattern);
    }

    /** Fails the test unless memory holds a pattern; the message begins with {@code when}. */
    public final void verify(long address, long byteSize, long pattern, String when) {
        fault(address, byteSize, pattern).ifPresent(fault -> Expect.that(false, "%s %s", when, fault));
    }

    /** Returns access to the contents of an allocator's memory; empty if neither segments nor copies reach it. */
    public static Optional<Contents> of(Subject subject, Allocator allocator) {
        if (allocator.as(HostAccessibleAllocator.class).orElse(null) instanceof HostAccessibleAllocator host) {
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
        public void fill(Part part, long pattern) {
            write(segment(part), pattern);
        }

        @Override
        public Optional<String> fault(Part part, long pattern) {
            return difference(segment(part), pattern);
        }

        /** Limits the segment to the part, whatever the allocator returns. */
        private MemorySegment segment(Part part) {
            return allocator.segment(part.address(), part.blockSize()).asSlice(part.offset(), part.byteSize());
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
        public void fill(Part part, long pattern) {
            try (Arena lifetime = Arena.ofConfined()) {
                final MemorySegment buffer = lifetime.allocate(part.byteSize(), 64);
                write(buffer, pattern);
                transfer.copy(host(buffer), range(part), null);
            }
        }

        @Override
        public Optional<String> fault(Part part, long pattern) {
            try (Arena lifetime = Arena.ofConfined()) {
                final MemorySegment buffer = lifetime.allocate(part.byteSize(), 64);
                transfer.copy(range(part), host(buffer), null);
                return difference(buffer, pattern);
            }
        }

        private static MemoryRange host(MemorySegment buffer) {
            return new MemoryRange(HOST, buffer.address(), buffer.byteSize());
        }

        private MemoryRange range(Part part) {
            return new MemoryRange(memory, part.address() + part.offset(), part.byteSize());
        }
    }
}
