package allocator.conformance.rules.streams;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.ConformanceTest.Scope;
import allocator.conformance.rules.StreamReuse;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.HostAccessibleAllocator;
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
import java.util.Map;
import java.util.function.LongUnaryOperator;

/** Chapters D and H: copies, and host access to memory. */
public abstract class CopyRules extends Chapter {
    private static final long[] SIZES = {1, 7, 4096, 100_001, 1 << 20};

    private static DataTransfer requireTransfer(Subject subject) {
        return Contents.transfer(subject, subject.memory())
                .orElseThrow(() -> Expect.skip("the provider has no DataTransfer between host and this memory"));
    }

    private static MemoryRange host(MemorySegment segment) {
        return new MemoryRange(Contents.HOST, segment.address(), segment.byteSize());
    }

    @ConformanceTest
    void required_D01_aCopyIsCompleteWhenItReturns(Subject subject) {
        final DataTransfer transfer = requireTransfer(subject);
        final Allocator allocator = subject.allocator();
        subject.probe().ifPresent(probe -> probe.lag(true));
        AllocationCalls.withoutStreams(allocator).forEach((name, call) -> {
            for (final long byteSize : SIZES) {
                try (Arena lifetime = Arena.ofConfined()) {
                    final MemorySegment source = lifetime.allocate(byteSize, 64);
                    final MemorySegment target = lifetime.allocate(byteSize, 64);
                    Contents.write(source, byteSize);
                    final MemoryRange block = new MemoryRange(subject.memory(), call.applyAsLong(byteSize), byteSize);
                    transfer.copy(host(source), block, null);
                    transfer.copy(block, host(target), null);
                    Contents.difference(target, byteSize)
                            .ifPresent(fault -> Expect.that(
                                    false,
                                    "copied without a stream to a block of %s(%d) and back: %s",
                                    name,
                                    byteSize,
                                    fault));
                    allocator.free(block.address());
                }
            }
        });
    }

    @ConformanceTest
    void required_D01_nothingIsCopiedForNoBytes(Subject subject) {
        final DataTransfer transfer = requireTransfer(subject);
        transfer.copy(new MemoryRange(Contents.HOST, 0, 0), new MemoryRange(subject.memory(), 0, 0), null);
    }

    @ConformanceTest
    void required_D02_copiesOfAStreamAreOrderedOnIt(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final DataTransfer transfer = requireTransfer(subject);
        if (!transfer.canCopy(subject.memory(), subject.memory())) {
            throw Expect.skip("the provider has no copies within this memory");
        }
        final SyncStream stream = subject.stream();
        final SyncStream second = subject.stream();
        subject.probe().ifPresent(probe -> probe.lag(true));
        for (final long byteSize : SIZES) {
            try (Arena lifetime = Arena.ofConfined()) {
                final MemorySegment source = lifetime.allocate(byteSize, 64);
                final MemorySegment target = lifetime.allocate(byteSize, 64);
                Contents.write(source, byteSize + 1);
                final MemoryRange one =
                        new MemoryRange(subject.memory(), allocator.allocOnStream(byteSize, stream), byteSize);
                final MemoryRange two =
                        new MemoryRange(subject.memory(), allocator.allocOnStream(byteSize, stream), byteSize);
                transfer.copy(host(source), one, stream);
                transfer.copy(one, two, stream);
                StreamReuse.order(stream, second);
                transfer.copy(two, host(target), second);
                second.flush();
                Contents.difference(target, byteSize + 1)
                        .ifPresent(fault -> Expect.that(
                                false, "copied there, within the memory, and back on a stream that waited: %s", fault));
                stream.flush();
                allocator.free(one.address());
                allocator.free(two.address());
            }
        }
    }

    /** A copy reads and writes when it is its turn, not when it is queued: also memory of the host. */
    @ConformanceTest
    void required_D02_eachCopyReadsWhatTheOneBeforeItWrote(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final DataTransfer transfer = requireTransfer(subject);
        subject.probe().ifPresent(probe -> probe.lag(true));
        for (final long byteSize : SIZES) {
            try (Arena lifetime = Arena.ofConfined()) {
                final MemorySegment between = lifetime.allocate(byteSize, 64);
                requireOrder(subject, transfer, allocator, host(between));
                Contents.difference(between, 3)
                        .ifPresent(fault -> Expect.that(
                                false,
                                "a buffer of the host was the target of a copy on a stream, its source, and"
                                        + " again its target: %s",
                                fault));
            }
        }
        for (final MemoryInfo info : subject.othersWithRoom()) {
            if (subject.isSameDevice(info, subject.memory())
                    && transfer.canCopy(info, subject.memory())
                    && transfer.canCopy(subject.memory(), info)) {
                final Allocator other = subject.create(info, Map.of());
                final MemoryRange between = new MemoryRange(info, other.alloc(100_001), 100_001);
                requireOrder(subject, transfer, allocator, between);
                other.free(between.address());
            }
        }
    }

    /** Copies behind other work through a range, which is written again at last. */
    private static void requireOrder(
            Subject subject, DataTransfer transfer, StreamAwareAllocator allocator, MemoryRange between) {
        final SyncStream stream = subject.stream();
        final long byteSize = between.byteSize();
        final long ahead = 4L << 20;
        try (Arena lifetime = Arena.ofConfined()) {
            final MemoryRange large = new MemoryRange(subject.memory(), allocator.allocOnStream(ahead, stream), ahead);
            final MemorySegment bytes = lifetime.allocate(ahead, 64);
            final MemoryRange[] blocks = new MemoryRange[2];
            for (int i = 0; i < blocks.length; i++) {
                blocks[i] = new MemoryRange(subject.memory(), allocator.allocOnStream(byteSize, stream), byteSize);
                final MemorySegment source = lifetime.allocate(byteSize, 64);
                Contents.write(source, 2L + i);
                transfer.copy(host(source), blocks[i], stream);
            }
            final MemorySegment target = lifetime.allocate(byteSize, 64);
            Contents.write(bytes, 1);
            for (int i = 0; i < 3; i++) {
                transfer.copy(host(bytes), large, stream);
            }
            transfer.copy(new MemoryRange(subject.memory(), large.address(), byteSize), between, stream);
            transfer.copy(between, blocks[0], stream);
            transfer.copy(blocks[1], between, stream);
            transfer.copy(blocks[0], host(target), stream);
            stream.flush();
            Contents.difference(target, 1)
                    .ifPresent(fault -> Expect.that(
                            false,
                            "%d bytes were copied on one stream to %s, and from there to a block; a copy read"
                                    + " them before the one ahead of it had written them: %s",
                            byteSize,
                            between.memory(),
                            fault));
            for (final MemoryRange block : blocks) {
                allocator.free(block.address());
            }
            allocator.free(large.address());
        }
        stream.close();
    }

    @ConformanceTest
    void required_D03_rangesOfDifferentSizeAreRefused(Subject subject) {
        final DataTransfer transfer = requireTransfer(subject);
        final Allocator allocator = subject.allocator();
        final Contents contents = subject.contents(allocator);
        final long address = allocator.alloc(4096);
        contents.fill(address, 4096, 21);
        try (Arena lifetime = Arena.ofConfined()) {
            final MemorySegment source = lifetime.allocate(4096, 64);
            for (final long byteSize : new long[] {0, 1, 4095}) {
                final MemoryRange shorter = new MemoryRange(Contents.HOST, source.address(), byteSize);
                Expect.rejection(
                        InvalidSizeException.class,
                        "a copy of " + byteSize + " bytes to 4096",
                        () -> transfer.copy(shorter, new MemoryRange(subject.memory(), address, 4096), null));
            }
        }
        contents.verify(address, 4096, 21, "after rejected copies");
        allocator.free(address);
    }

    @ConformanceTest(Scope.FACTORY)
    void required_D03_memoriesThatCannotBeCopiedAreRefused(Subject subject) {
        final DataTransfer transfer =
                subject.factory().dataTransfer().orElseThrow(() -> Expect.skip("the provider has no DataTransfer"));
        final MemoryInfo stranger = new MemoryInfo(
                "Nowhere",
                new MemoryLocation(DeviceType.FPGA, 0xFFFF, 4711, MemoryType.DEFAULT),
                1,
                AllocatorType.DEVICE);
        if (transfer.canCopy(Contents.HOST, stranger)) {
            throw Expect.skip("the provider copies to any memory");
        }
        try (Arena lifetime = Arena.ofConfined()) {
            final MemorySegment bytes = lifetime.allocate(64, 64);
            Expect.rejection(
                    UnsupportedMemoryException.class,
                    "a copy to " + stranger + ", which canCopy rejects,",
                    () -> transfer.copy(host(bytes), new MemoryRange(stranger, bytes.address(), 64), null));
        }
    }

    @ConformanceTest
    void required_H01_aSegmentShowsWhatCopiesDo(Subject subject) {
        if (!(subject.allocator().as(HostAccessibleAllocator.class).orElse(null)
                instanceof HostAccessibleAllocator allocator)) {
            throw Expect.skip("the allocator is not a HostAccessibleAllocator");
        }
        final DataTransfer transfer = requireTransfer(subject);
        final long address = allocator.alloc(4096);
        final MemoryRange block = new MemoryRange(subject.memory(), address, 4096);
        try (Arena lifetime = Arena.ofConfined()) {
            final MemorySegment bytes = lifetime.allocate(4096, 64);
            Contents.write(bytes, 51);
            transfer.copy(host(bytes), block, null);
            Contents.difference(allocator.segment(address, 4096), 51)
                    .ifPresent(fault -> Expect.that(
                            false,
                            "a segment does not show what was copied to its memory, which the host may not reach: %s",
                            fault));
            Contents.write(allocator.segment(address, 4096), 52);
            transfer.copy(block, host(bytes), null);
            Contents.difference(bytes, 52)
                    .ifPresent(fault -> Expect.that(
                            false,
                            "a copy does not read what was written to a segment, whose memory the host may not reach:"
                                    + " %s",
                            fault));
        }
        allocator.free(address);
    }

    @ConformanceTest
    void required_H02_aSegmentIsTheAllocationItself(Subject subject) {
        if (!(subject.allocator().as(HostAccessibleAllocator.class).orElse(null)
                instanceof HostAccessibleAllocator allocator)) {
            throw Expect.skip("the allocator is not a HostAccessibleAllocator");
        }
        AllocationCalls.of(subject, allocator).forEach((name, call) -> requireSegments(allocator, name, call));
        Expect.that(allocator.segment(0, 0).byteSize() == 0, "the empty allocation's segment is not empty");
        Expect.rejection(
                RuntimeException.class, "a segment of one byte of the empty allocation", () -> allocator.segment(0, 1));
    }

    private static void requireSegments(HostAccessibleAllocator allocator, String name, LongUnaryOperator call) {
        final long address = call.applyAsLong(1000);
        for (final long byteSize : new long[] {0, 1, 999, 1000}) {
            final MemorySegment segment = allocator.segment(address, byteSize);
            Expect.that(
                    segment.byteSize() == byteSize && segment.address() == address && !segment.isReadOnly(),
                    "segment(%s, %d) of a block of %s has %d bytes at %s",
                    Expect.hex(address),
                    byteSize,
                    name,
                    segment.byteSize(),
                    Expect.hex(segment.address()));
        }
        Contents.write(allocator.segment(address, 1000), 1);
        Contents.difference(allocator.segment(address, 1000), 1)
                .ifPresent(
                        fault -> Expect.that(false, "two segments of the allocation show different bytes: %s", fault));
        Expect.rejection(RuntimeException.class, "a segment of -1 bytes", () -> allocator.segment(address, -1));
        allocator.free(address);
    }
}
