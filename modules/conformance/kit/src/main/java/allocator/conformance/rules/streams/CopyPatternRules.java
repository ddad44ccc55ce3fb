package allocator.conformance.rules.streams;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.ConformanceTest.Scope;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Chapter D: copies of every size, to parts of blocks, among own memories, and from unknown ones. */
public abstract class CopyPatternRules extends Chapter {
    private static final long[] SIZES = {
        1,
        2,
        3,
        7,
        8,
        9,
        63,
        64,
        65,
        255,
        4095,
        4096,
        4097,
        8191,
        65_535,
        65_536,
        65_537,
        1 << 20,
        (1 << 20) + 13,
        (5 << 20) + 1
    };

    private static final MemoryInfo STRANGER = new MemoryInfo(
            "Nowhere", new MemoryLocation(DeviceType.FPGA, 0xFFFF, 4711, MemoryType.DEFAULT), 1, AllocatorType.DEVICE);

    private static DataTransfer requireTransfer(Subject subject) {
        return Contents.transfer(subject, subject.memory())
                .orElseThrow(() -> Expect.skip("the provider has no DataTransfer between host and this memory"));
    }

    private static MemoryRange host(MemorySegment segment) {
        return new MemoryRange(Contents.HOST, segment.address(), segment.byteSize());
    }

    private static MemoryRange own(Subject subject, long address, long byteSize) {
        return new MemoryRange(subject.memory(), address, byteSize);
    }

    /** Fails unless a buffer holds a pattern in the middle, and zeros around it. */
    private static void requireBetween(MemorySegment buffer, long from, long byteSize, long pattern, String what) {
        Contents.difference(buffer.asSlice(from, byteSize), pattern)
                .ifPresent(fault -> Expect.that(false, "%s: %s", what, fault));
        for (long i = 0; i < buffer.byteSize(); i = i == from - 1 ? from + byteSize : i + 1) {
            Expect.that(
                    buffer.get(ValueLayout.JAVA_BYTE, i) == 0,
                    "%s changed byte %d, outside the %d bytes from %d",
                    what,
                    i,
                    byteSize,
                    from);
        }
    }

    @ConformanceTest
    void required_D01_eachSizeIsCopiedWholeAndNoMore(Subject subject) {
        final DataTransfer transfer = requireTransfer(subject);
        final Allocator allocator = subject.allocator();
        for (final long byteSize : SIZES) {
            try (Arena lifetime = Arena.ofConfined()) {
                final MemorySegment zeros = lifetime.allocate(byteSize + 128, 64);
                final MemorySegment source = lifetime.allocate(byteSize, 64);
                final MemorySegment target = lifetime.allocate(byteSize + 128, 64);
                Contents.write(source, byteSize + 3);
                final long address = allocator.alloc(byteSize + 128);
                transfer.copy(host(zeros), own(subject, address, byteSize + 128), null);
                transfer.copy(host(source), own(subject, address + 64, byteSize), null);
                transfer.copy(own(subject, address, byteSize + 128), host(target), null);
                requireBetween(target, 64, byteSize, byteSize + 3, "a copy of " + byteSize + " bytes into a block");
                target.fill((byte) 0);
                transfer.copy(own(subject, address + 64, byteSize), host(target.asSlice(64, byteSize)), null);
                requireBetween(target, 64, byteSize, byteSize + 3, "a copy of " + byteSize + " bytes from a block");
                allocator.free(address);
            }
        }
    }

    @ConformanceTest
    void required_D01_ownMemoryIsCopiedToOwnMemory(Subject subject) {
        final DataTransfer transfer = requireTransfer(subject);
        final Allocator allocator = subject.allocator();
        final Contents contents = subject.contents(allocator);
        if (!transfer.canCopy(subject.memory(), subject.memory())) {
            throw Expect.skip("the provider has no copies within this memory");
        }
        for (final long byteSize : SIZES) {
            final long from = allocator.alloc(byteSize);
            final long to = allocator.alloc(byteSize);
            contents.fill(from, byteSize, byteSize + 5);
            contents.fill(to, byteSize, byteSize + 6);
            transfer.copy(own(subject, from, byteSize), own(subject, to, byteSize), null);
            contents.verify(to, byteSize, byteSize + 5, "copied within the memory without a stream:");
            contents.verify(from, byteSize, byteSize + 5, "the source of a copy changed:");
            allocator.free(from);
            allocator.free(to);
        }
    }

    @ConformanceTest
    void required_D01_eachPairOfMemoriesIsCopied(Subject subject) {
        final DataTransfer transfer = requireTransfer(subject);
        final List<MemoryInfo> others = subject.othersWithRoom().stream()
                .filter(info -> transfer.canCopy(subject.memory(), info) && transfer.canCopy(info, Contents.HOST))
                .toList();
        if (others.isEmpty()) {
            throw Expect.skip("the provider copies to no other memory of its own");
        }
        final Allocator allocator = subject.allocator();
        for (final MemoryInfo info : others) {
            final Allocator other = subject.create(info, Map.of());
            for (final long byteSize : new long[] {1, 4097, 300_001}) {
                try (Arena lifetime = Arena.ofConfined()) {
                    final MemorySegment source = lifetime.allocate(byteSize, 64);
                    final MemorySegment target = lifetime.allocate(byteSize, 64);
                    Contents.write(source, byteSize + 9);
                    final long from = allocator.alloc(byteSize);
                    final long to = other.alloc(byteSize);
                    transfer.copy(host(source), own(subject, from, byteSize), null);
                    transfer.copy(own(subject, from, byteSize), new MemoryRange(info, to, byteSize), null);
                    transfer.copy(new MemoryRange(info, to, byteSize), host(target), null);
                    Contents.difference(target, byteSize + 9)
                            .ifPresent(fault ->
                                    Expect.that(false, "copied from %s to %s: %s", subject.memory(), info, fault));
                    allocator.free(from);
                    other.free(to);
                }
            }
            subject.release(other);
        }
    }

    @ConformanceTest
    void required_D02_copiesOfMixedSizesKeepTheirOrder(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final DataTransfer transfer = requireTransfer(subject);
        subject.probe().ifPresent(probe -> probe.lag(true));
        final SplittableRandom random = subject.random("D-02");
        final SyncStream stream = subject.stream();
        try (Arena lifetime = Arena.ofConfined()) {
            final Map<MemorySegment, Integer> expected = new LinkedHashMap<>();
            final List<MemorySegment> sources = new ArrayList<>();
            final List<Long> live = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                final long byteSize = SIZES[random.nextInt(SIZES.length - 2)];
                final MemorySegment source = lifetime.allocate(byteSize, 64);
                final MemorySegment target = lifetime.allocate(byteSize, 64);
                Contents.write(source, i);
                sources.add(source);
                final long address = allocator.allocOnStream(byteSize, stream);
                if (i > 0) {
                    // Overwritten by the copy behind it.
                    final MemorySegment earlier = sources.get(i - 1);
                    final long both = Math.min(byteSize, earlier.byteSize());
                    transfer.copy(host(earlier.asSlice(0, both)), own(subject, address, both), stream);
                }
                transfer.copy(host(source), own(subject, address, byteSize), stream);
                transfer.copy(own(subject, address, byteSize), host(target), stream);
                expected.put(target, i);
                live.add(address);
            }
            stream.flush();
            expected.forEach((target, pattern) -> Contents.difference(target, pattern)
                    .ifPresent(fault -> Expect.that(
                            false, "copy %d of 40 on one stream, %d bytes: %s", pattern, target.byteSize(), fault)));
            live.forEach(allocator::free);
        }
    }

    @ConformanceTest
    void required_D03_eachRejectedCopyChangesNothing(Subject subject) {
        final DataTransfer transfer = requireTransfer(subject);
        final Allocator allocator = subject.allocator();
        final Contents contents = subject.contents(allocator);
        final long address = allocator.alloc(4096);
        contents.fill(address, 4096, 31);
        final SyncStream stream = subject.factory().isStreamAware(subject.memory()) ? subject.stream() : null;
        try (Arena lifetime = Arena.ofConfined()) {
            final MemorySegment bytes = lifetime.allocate(8192, 64);
            for (final long byteSize : new long[] {1, 4095, 4097, 8192}) {
                requireMismatch(transfer, host(bytes.asSlice(0, byteSize)), own(subject, address, 4096), null);
                requireMismatch(transfer, own(subject, address, 4096), host(bytes.asSlice(0, byteSize)), null);
                if (stream != null) {
                    requireMismatch(transfer, host(bytes.asSlice(0, byteSize)), own(subject, address, 4096), stream);
                }
            }
            for (final boolean isSource : new boolean[] {true, false}) {
                final MemoryRange strange = new MemoryRange(STRANGER, bytes.address(), 4096);
                final MemoryRange block = own(subject, address, 4096);
                final MemoryRange from = isSource ? strange : block;
                final MemoryRange to = isSource ? block : strange;
                if (!transfer.canCopy(from.memory(), to.memory())) {
                    Expect.rejection(
                            UnsupportedMemoryException.class,
                            "a copy from " + from.memory() + " to " + to.memory() + ", which canCopy rejects,",
                            () -> transfer.copy(from, to, null));
                }
            }
            if (stream != null) {
                stream.flush();
            }
            for (long i = 0; i < bytes.byteSize(); i++) {
                Expect.that(
                        bytes.get(ValueLayout.JAVA_BYTE, i) == 0, "a rejected copy changed byte %d of its target", i);
            }
        }
        contents.verify(address, 4096, 31, "after rejected copies");
        allocator.free(address);
    }

    private static void requireMismatch(
            DataTransfer transfer, MemoryRange from, MemoryRange to, @Nullable SyncStream stream) {
        Expect.rejection(
                InvalidSizeException.class,
                "a copy of " + from.byteSize() + " bytes to " + to.byteSize(),
                () -> transfer.copy(from, to, stream));
    }

    @ConformanceTest(Scope.FACTORY)
    void required_D03_whatCanBeCopiedStays(Subject subject) {
        final DataTransfer transfer =
                subject.factory().dataTransfer().orElseThrow(() -> Expect.skip("the provider has no DataTransfer"));
        final List<MemoryInfo> memories = new ArrayList<>(subject.memories());
        memories.add(Contents.HOST);
        memories.add(STRANGER);
        for (final MemoryInfo from : memories) {
            for (final MemoryInfo to : memories) {
                if (transfer.canCopy(from, to)) {
                    transfer.copy(new MemoryRange(from, 0, 0), new MemoryRange(to, 0, 0), null);
                } else {
                    Expect.rejection(
                            UnsupportedMemoryException.class,
                            "a copy of no bytes from " + from + " to " + to + ", which canCopy rejects,",
                            () -> transfer.copy(new MemoryRange(from, 0, 0), new MemoryRange(to, 0, 0), null));
                }
            }
        }
    }

    @ConformanceTest
    void required_D02_aSmallCopyDoesNotOvertakeALargeOne(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final DataTransfer transfer = requireTransfer(subject);
        final long large = 12L << 20;
        try (Arena lifetime = Arena.ofConfined()) {
            final MemorySegment source = lifetime.allocate(large, 64);
            final MemorySegment tail = lifetime.allocate(4096, 64);
            final MemorySegment target = lifetime.allocate(4096, 64);
            Contents.write(source, 1);
            Contents.write(tail, 2);
            for (int round = 0; round < subject.times(20, 6); round++) {
                final SyncStream stream = subject.stream();
                final long address = allocator.allocOnStream(large, stream);
                transfer.copy(host(source), own(subject, address, large), stream);
                transfer.copy(host(tail), own(subject, address + large - 4096, 4096), stream);
                transfer.copy(own(subject, address + large - 4096, 4096), host(target), stream);
                stream.flush();
                Contents.difference(target, 2)
                        .ifPresent(fault -> Expect.that(
                                false, "4096 bytes were copied behind 12 MiB on a stream, over their end: %s", fault));
                final MemorySegment again = lifetime.allocate(4096, 64);
                transfer.copy(own(subject, address + large - 4096, 4096), host(again), null);
                Contents.difference(again, 2)
                        .ifPresent(fault -> Expect.that(
                                false, "a copy of 12 MiB was done after the 4096 bytes behind it: %s", fault));
                allocator.free(address);
                stream.close();
            }
        }
    }
}
