package allocator.conformance.rules.regions;

import allocator.conformance.DeviceProbe;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.DataTransfer;
import allocator.spi.MemoryRange;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/** Chapter K: a shrink returns what it reports, and no memory in use. */
public abstract class ShrinkRules extends Chapter {
    private static final long MIB = 1 << 20;

    /** Allocates blocks of several sizes and frees every other one; returns those still live. */
    private static List<Long> halfFreed(Allocator allocator) {
        final List<Long> kept = new ArrayList<>();
        final List<Long> freed = new ArrayList<>();
        for (int i = 0; i < 24; i++) {
            (i % 2 == 0 ? kept : freed).add(allocator.alloc(sizeOf(i)));
        }
        freed.forEach(allocator::free);
        return kept;
    }

    private static long sizeOf(int block) {
        return 200_000L * (1 + block % 5);
    }

    @ConformanceTest
    void required_K01_liveBlocksKeepAddressAndContents(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(Map.of());
        final Contents contents = subject.contents(allocator);
        final List<Long> kept = halfFreed(allocator);
        for (int i = 0; i < kept.size(); i++) {
            contents.fill(kept.get(i), sizeOf(2 * i), i);
        }
        allocator.shrink();
        final List<Long> more = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            final long address = allocator.alloc(300_000);
            contents.fill(address, 300_000, 1000 + i);
            more.add(address);
        }
        for (int i = 0; i < kept.size(); i++) {
            contents.verify(kept.get(i), sizeOf(2 * i), i, "a live block changed by a shrink and what came after it:");
        }
        more.forEach(allocator::free);
        kept.forEach(allocator::free);
    }

    @ConformanceTest
    void required_K02_whatIsReportedWentBack(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(Map.of());
        subject.stats(allocator);
        final List<Long> kept = halfFreed(allocator);
        requireTruthful(subject, allocator, "with some blocks live");
        kept.forEach(allocator::free);
        requireTruthful(subject, allocator, "with nothing live");
        requireTruthful(subject, allocator, "with nothing left to return");
    }

    private static void requireTruthful(Subject subject, ShrinkableAllocator allocator, String when) {
        final AllocatorStats before = allocator.stats();
        final long deviceBefore = subject.heldByDevice(0);
        final ShrinkReport report = allocator.shrink();
        final AllocatorStats after = allocator.stats();
        Expect.that(
                subject.isReturned(report.bytesReleased(), before.bytesHeld() - after.bytesHeld()),
                "shrink %s reports %d bytes released; bytesHeld fell by %d",
                when,
                report.bytesReleased(),
                before.bytesHeld() - after.bytesHeld());
        Expect.that(
                subject.isReturned(0, report.bytesHeld() - after.bytesHeld()),
                "shrink %s reports %d bytes still held; bytesHeld is %d",
                when,
                report.bytesHeld(),
                after.bytesHeld());
        final long explained =
                report.held().stream().mapToLong(ShrinkReport.Held::bytes).sum();
        Expect.that(
                report.held().isEmpty() || explained == report.bytesHeld(),
                "shrink %s gives reasons for %d bytes that stay; it reports %d bytes still held",
                when,
                explained,
                report.bytesHeld());
        final long returned = deviceBefore - subject.heldByDevice(deviceBefore - report.bytesReleased());
        Expect.that(
                subject.isReturned(report.bytesReleased(), returned),
                "shrink %s reports %d bytes released; the device got %d back",
                when,
                report.bytesReleased(),
                returned);
        Expect.that(
                subject.isReturned(report.regionsReleased(), before.numArenaExtensions() - after.numArenaExtensions())
                        || before.numArenaExtensions() == 0,
                "shrink %s reports %d regions released; numArenaExtensions, the regions held, went from %d to %d",
                when,
                report.regionsReleased(),
                before.numArenaExtensions(),
                after.numArenaExtensions());
        Expect.that(
                after.numArenaShrinkages() == 0
                        || subject.isReturned(
                                report.regionsReleased(), after.numArenaShrinkages() - before.numArenaShrinkages())
                        || report.regionsReleased() == 0,
                "shrink %s reports %d regions released; numArenaShrinkages went from %d to %d",
                when,
                report.regionsReleased(),
                before.numArenaShrinkages(),
                after.numArenaShrinkages());
    }

    @ConformanceTest
    void required_K02_eachShrinkOfManyRegionsIsTruthful(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(subject.manyRegions());
        subject.stats(allocator);
        final SplittableRandom random = subject.random("K-02");
        final List<Long> live = new ArrayList<>();
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < 40; i++) {
                live.add(allocator.alloc(1 + random.nextLong(30_000)));
            }
            for (int keep = live.size() / (2 + round); live.size() > keep; ) {
                allocator.free(live.remove(random.nextInt(live.size())));
            }
            requireTruthful(subject, allocator, "with " + live.size() + " blocks live");
        }
        live.forEach(allocator::free);
    }

    @ConformanceTest
    void required_K02_aShrinkBesideMemoryBoundToAStreamIsTruthful(Subject subject) {
        final ShrinkableAllocator shrinkable = subject.shrinkable(Map.of());
        final StreamAwareAllocator allocator = subject.streamAware(shrinkable);
        subject.stats(allocator);
        final SyncStream stream = subject.stream();
        final long live = allocator.alloc(4096);
        for (final long byteSize : new long[] {4096, 100_000, 3 * MIB}) {
            allocator.free(allocator.allocOnStream(byteSize, stream));
        }
        requireTruthful(subject, shrinkable, "with memory bound to a stream");
        allocator.free(live);
        requireTruthful(subject, shrinkable, "with nothing but memory bound to a stream");
        stream.onSessionRunEnd();
        requireTruthful(subject, shrinkable, "after the end of the stream's run");
    }

    @ConformanceTest
    void required_K02_aLiveBlockKeepsNoRegionButItsOwn(Subject subject) {
        for (final int kept : new int[] {0, 20, 39}) {
            final ShrinkableAllocator allocator = subject.shrinkable(subject.exclusive(subject.manyRegions()));
            subject.requireArena(allocator);
            final List<Long> live = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                live.add(allocator.alloc(sizeOf(i) / 10));
            }
            final long last = live.remove(kept);
            live.forEach(allocator::free);
            final long regions = allocator.stats().numArenaExtensions();
            allocator.shrink();
            final long after = allocator.stats().numArenaExtensions();
            Expect.that(
                    after <= 2,
                    "of 40 blocks, number %d is live, and of %d regions %d are held after a shrink; it may keep the"
                            + " region of the block, and its first",
                    kept + 1,
                    regions,
                    after);
            allocator.free(last);
            allocator.shrink();
            Expect.that(
                    allocator.stats().numArenaExtensions() <= 1,
                    "everything was freed and the arena was shrunk; of %d regions %d are still held",
                    regions,
                    allocator.stats().numArenaExtensions());
            subject.release(allocator);
        }
    }

    @ConformanceTest
    void required_K02_aShrinkBesideReservesIsTruthful(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(Map.of());
        subject.stats(allocator);
        final List<Long> reserves = new ArrayList<>();
        for (final long byteSize : new long[] {1000, 3 * MIB}) {
            reserves.add(allocator.reserve(byteSize));
        }
        allocator.free(allocator.alloc(100_000));
        requireTruthful(subject, allocator, "beside reserves");
        final long live = allocator.alloc(1000);
        requireTruthful(subject, allocator, "beside reserves and another live block");
        subject.ifStreamAware(allocator).ifPresent(streamAware -> {
            allocator.free(streamAware.allocOnStream(5 * MIB, subject.stream()));
            requireTruthful(subject, allocator, "beside reserves, a live block and memory bound to a stream");
        });
        reserves.forEach(allocator::free);
        requireTruthful(subject, allocator, "after the reserves were freed");
        allocator.free(live);
    }

    @ConformanceTest
    void required_K02_aShrinkCountsNoReserveAsARegion(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(subject.exclusive(Map.of()));
        subject.requireArena(allocator);
        for (final long live : new long[] {0, 100_000}) {
            final long block = allocator.alloc(live);
            final ShrinkReport before = allocator.shrink();
            final long first = allocator.reserve(1000);
            final long second = allocator.reserve(3 * MIB);
            final ShrinkReport beside = allocator.shrink();
            final long most = Math.max(regions(before), allocator.stats().numArenaExtensions());
            Expect.that(
                    beside.regionsInUse() <= before.regionsInUse()
                            && beside.regionsKept() <= before.regionsKept()
                            && regions(beside) <= most,
                    "two reserves are no regions of an arena; the report of a shrink before them was %s, and beside"
                            + " them it is %s",
                    before,
                    beside);
            allocator.free(second);
            allocator.free(first);
            allocator.free(block);
        }
    }

    /** Returns how many regions the reasons of a report count. */
    private static long regions(ShrinkReport report) {
        return report.held().stream().mapToLong(ShrinkReport.Held::regions).sum();
    }

    @ConformanceTest
    void optional_K02_aShrinkReturnsWhatALargeBlockLeft(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(Map.of());
        Subject.requireNoPlans(allocator);
        subject.stats(allocator);
        allocator.free(allocator.alloc(64 * MIB));
        allocator.shrink();
        Expect.that(
                allocator.stats().bytesHeld() < 64 * MIB,
                "after 64 MiB were freed, a shrink left %d bytes held",
                allocator.stats().bytesHeld());
    }

    @ConformanceTest
    void required_K03_memoryInUseByQueuedWorkStays(Subject subject) {
        final ShrinkableAllocator shrinkable = subject.shrinkable(Map.of());
        final StreamAwareAllocator allocator = subject.streamAware(shrinkable);
        final DeviceProbe probe = subject.requireProbe();
        final DataTransfer transfer = Contents.transfer(subject, subject.memory())
                .orElseThrow(() -> Expect.skip("needs copies between host and device, to queue work"));
        final SyncStream stream = subject.stream();
        probe.lag(true);
        try (Arena lifetime = Arena.ofConfined()) {
            final MemorySegment source = lifetime.allocate(MIB, 64);
            final long address = allocator.allocOnStream(MIB, stream);
            transfer.copy(
                    new MemoryRange(Contents.HOST, source.address(), MIB),
                    new MemoryRange(subject.memory(), address, MIB),
                    stream);
            allocator.free(address);
            shrinkable.shrink();
            stream.flush();
        }
        Expect.that(
                probe.faults().isEmpty(),
                "a shrink gave memory back while a copy into it was queued; the device detected %s",
                probe.faults());
    }

    @ConformanceTest
    void required_K01_regionsComeAndGoAroundLiveBlocks(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(subject.manyRegions());
        final SplittableRandom random = subject.random("K-01");
        final Blocks blocks = new Blocks();
        final List<Long> live = new ArrayList<>();
        for (int round = 0; round < subject.times(40, 12); round++) {
            for (int i = 0; i < 60; i++) {
                final long byteSize = 1 + random.nextLong(1L << random.nextInt(6, 17));
                final long address = allocator.alloc(byteSize);
                blocks.add(address, byteSize);
                live.add(address);
            }
            for (int keep = live.size() / (2 + round % 7); live.size() > keep; ) {
                final long address = live.remove(random.nextInt(live.size()));
                blocks.remove(address);
                allocator.free(address);
            }
            allocator.shrink();
        }
        live.forEach(allocator::free);
    }

    @ConformanceTest
    void required_K04_afterAShrinkAllIsAsBefore(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(Map.of());
        final Optional<Contents> contents = Contents.of(subject, allocator);
        for (int round = 0; round < 5; round++) {
            final int pattern = round;
            final long address = allocator.alloc(MIB);
            contents.ifPresent(bytes -> {
                bytes.fill(address, MIB, pattern);
                bytes.verify(address, MIB, pattern, "after a shrink,");
            });
            allocator.free(address);
            allocator.shrink();
        }
    }
}
