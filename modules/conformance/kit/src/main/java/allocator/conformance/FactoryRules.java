package allocator.conformance;

import allocator.conformance.ConformanceTest.Scope;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.OptionKey;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Discovery, creating and releasing, closing, levels: chapters M, F and L. */
abstract class FactoryRules extends Chapter {
    private static final Map<String, String> NO_SUCH_KEY = Map.of("no.such.key", "1");

    FactoryRules(Kit kit) {
        super(kit);
    }

    // Discovery

    @ConformanceTest(Scope.FACTORY)
    void required_F01_constructingTouchesNoDevice(Subject subject) {
        final DeviceProbe probe = subject.requireProbe();
        final EpFactory factory = subject.factory();
        Expect.that(
                !factory.name().isBlank() && probe.calls() == 0,
                "constructing and naming the factory made %d calls to the device; the first is due in discoverDevices",
                probe.calls());
    }

    @ConformanceTest(Scope.FACTORY)
    void required_F02_theFactoryNamesItselfAndStaysTheSame(Subject subject) {
        final EpFactory factory = subject.factory();
        final String name = factory.name();
        Expect.that(
                name.matches("\\S+"),
                "the name is '%s'; it stands in option keys, so it has letters and no blanks",
                name);
        Expect.that(!factory.vendor().isBlank(), "the vendor is blank");
        Expect.that(!factory.version().isBlank(), "the version is blank");
        final Set<String> keys = new HashSet<>();
        for (final OptionKey<?> key : factory.optionKeys()) {
            Expect.that(keys.add(key.name()), "the option %s is listed twice", key.name());
        }
        factory.discoverDevices();
        Expect.that(factory.name().equals(name), "the name was '%s' and is now '%s'", name, factory.name());
    }

    @ConformanceTest(Scope.FACTORY)
    void required_F02_devicesAndTheirOrderStay(Subject subject) throws Throwable {
        final DeviceDiscovery first = subject.factory().discoverDevices();
        for (final MemoryInfo info : subject.memories()) {
            subject.release(subject.create(info, Map.of()));
        }
        final DeviceDiscovery later = subject.factory().discoverDevices();
        Expect.that(
                first.devices().equals(later.devices()),
                "discoverDevices answered %s, and later %s",
                first.devices(),
                later.devices());
        Workers.run(Thread.ofVirtual(), 1, _ -> {
            final DeviceDiscovery elsewhere = subject.factory().discoverDevices();
            Expect.that(
                    first.devices().equals(elsewhere.devices()),
                    "discoverDevices answers %s, on a virtual thread %s",
                    first.devices(),
                    elsewhere.devices());
        });
    }

    @ConformanceTest(Scope.FACTORY)
    void required_F03_whatIsNotUsableIsExplained(Subject subject) {
        final DeviceDiscovery discovery = subject.factory().discoverDevices();
        Expect.that(discovery.notes().stream().noneMatch(String::isBlank), "a note is blank: %s", discovery.notes());
        Expect.that(
                !discovery.devices().isEmpty() || !discovery.notes().isEmpty(),
                "there is no device, and no note says why");
    }

    @ConformanceTest(Scope.FACTORY)
    void required_M02_alignmentsArePowersOfTwo(Subject subject) {
        for (final MemoryInfo info : subject.memories()) {
            Expect.that(
                    Long.bitCount(info.byteAlignment()) == 1 && info.byteAlignment() > 0,
                    "the alignment of %s is %d",
                    info,
                    info.byteAlignment());
        }
    }

    @ConformanceTest(Scope.FACTORY)
    void required_M03_oneInfoForEachLocation(Subject subject) {
        final Set<MemoryLocation> writable = new HashSet<>();
        final Set<MemoryLocation> readOnly = new HashSet<>();
        for (final MemoryInfo info : subject.memories()) {
            Expect.that(
                    (info.isReadOnly() ? readOnly : writable).add(info.location()),
                    "two infos have the location %s; a lookup by location could mean either",
                    info.location());
        }
    }

    // Creating

    @ConformanceTest
    void required_F05_theAllocatorServesTheMemoryAskedFor(Subject subject) {
        final Allocator allocator = subject.allocator();
        Expect.that(
                allocator.info().equals(subject.memory()),
                "asked for %s, got an allocator of %s",
                describe(subject.memory()),
                describe(allocator.info()));
    }

    private static String describe(MemoryInfo info) {
        return info + " with alignment " + info.byteAlignment() + " and type " + info.allocatorType();
    }

    @ConformanceTest
    void required_F05_unlistedMemoryIsRefused(Subject subject) {
        final MemoryInfo info = subject.memory();
        final MemoryLocation location = info.location();
        final MemoryInfo unlisted = new MemoryInfo(
                info.name(),
                new MemoryLocation(
                        location.deviceType(),
                        location.vendorId(),
                        location.deviceOrdinal() + 4711,
                        location.memoryType()),
                info.byteAlignment(),
                info.allocatorType());
        Expect.refusal(
                UnsupportedMemoryException.class,
                "createAllocator for " + unlisted + ", which is not listed,",
                () -> subject.create(unlisted, Map.of()));
    }

    @ConformanceTest
    void required_F06_noAllocatorHasTheArenaType(Subject subject) {
        Expect.that(
                subject.memory().allocatorType() != AllocatorType.ARENA
                        && subject.allocator().info().allocatorType() != AllocatorType.ARENA,
                "the allocator type is ARENA, which is reserved for the runtime; use DEVICE and keep the arena inside");
    }

    // References

    @ConformanceTest
    void required_F04_eachReferenceKeepsTheAllocatorOpen(Subject subject) {
        final Allocator first = subject.allocator();
        final Allocator second = subject.allocator();
        final long address = first.alloc(1000);
        subject.release(second);
        final long other;
        try {
            other = first.alloc(1000);
        } catch (AllocatorException e) {
            throw Expect.broken(
                    "two references were created and one released; the other must still work, yet alloc threw "
                            + Expect.describe(e),
                    e);
        }
        first.free(other);
        first.free(address);
    }

    @ConformanceTest
    void required_F04_releasingOneReferenceKeepsWhatIsLive(Subject subject) {
        final Allocator first = subject.allocator();
        final Contents contents = subject.contents(first);
        final long address = first.alloc(5000);
        contents.fill(address, 5000, 1);
        subject.release(subject.allocator());
        contents.verify(address, 5000, 1, "after another reference was released,");
        first.free(address);
    }

    @ConformanceTest
    void required_F04_theLastReleaseReturnsTheMemory(Subject subject) {
        final Allocator first = subject.allocator();
        final long before = subject.stats(first).bytesHeld();
        first.alloc(1 << 20);
        subject.release(first);
        Expect.that(
                subject.heldByDevice(0) == 0,
                "after the last release %d bytes are still taken from the device",
                subject.heldByDevice(0));
        final Allocator again = subject.allocator();
        final AllocatorStats stats = subject.stats(again);
        Expect.that(
                stats.bytesInUse() == 0 && stats.bytesHeld() <= before,
                "created anew after the last release, the allocator has %d bytes in use and holds %d, at first %d",
                stats.bytesInUse(),
                stats.bytesHeld(),
                before);
    }

    @ConformanceTest
    void required_F07_aForeignAllocatorIsRefused(Subject subject) {
        final Allocator own = subject.allocator();
        final long address = own.alloc(64);
        Expect.refusal(
                UnknownAllocatorException.class,
                "releaseAllocator of an allocator that another made",
                () -> subject.factory().releaseAllocator(new ForeignAllocator(subject.memory())));
        own.free(address);
    }

    @ConformanceTest
    void required_F07_oneReleaseTooManyIsRefused(Subject subject) {
        final Allocator kept = subject.allocator(exclusive(subject));
        final Allocator released = subject.allocator(exclusive(subject));
        if (Expect.same(kept, released)) {
            subject.release(released);
            subject.release(kept);
        } else {
            subject.release(released);
        }
        Expect.refusal(
                UnknownAllocatorException.class,
                "a release after every reference was back",
                () -> subject.factory().releaseAllocator(released));
        if (!Expect.same(kept, released)) {
            kept.free(kept.alloc(64));
        }
    }

    private static Map<String, String> exclusive(Subject subject) {
        return subject.hasKey(OptionKey.EXCLUSIVE.name()) ? Map.of(OptionKey.EXCLUSIVE.name(), "1") : Map.of();
    }

    @ConformanceTest
    void required_F08_aRefusedCreateCountsNoReference(Subject subject) {
        final EpFactory factory = subject.factory();
        Expect.refusal(
                AllocatorException.class,
                "createAllocator with an unknown option",
                () -> factory.createAllocator(subject.memory(), AllocatorOptions.of(NO_SUCH_KEY)));
        try {
            factory.close();
        } catch (IllegalStateException e) {
            throw Expect.broken(
                    "a create was refused, yet the factory counts a reference: close threw " + Expect.describe(e), e);
        }
    }

    @ConformanceTest
    void required_F08_eachFailingDeviceCallLeavesNothing(Subject subject) {
        final DeviceProbe probe = subject.requireProbe();
        for (int i = 1; i <= 50; i++) {
            final long call = probe.calls() + i;
            probe.failCall(call);
            try {
                final Allocator created = subject.allocator();
                probe.failCall(0);
                subject.release(created);
            } catch (AllocatorException e) {
                Expect.that(
                        subject.heldByDevice(0) == 0,
                        "create failed at device call %d (%s) and left %d bytes behind",
                        i,
                        Expect.describe(e),
                        subject.heldByDevice(0));
            }
            probe.failCall(0);
            if (probe.calls() < call) {
                break;
            }
        }
    }

    @ConformanceTest
    void required_F09_closeIsRefusedWhileAReferenceIsOut(Subject subject) {
        final Allocator allocator = subject.allocator();
        Expect.refusal(
                IllegalStateException.class,
                "close of the factory with a reference out",
                () -> subject.factory().close());
        allocator.free(allocator.alloc(64));
        subject.release(subject.allocator());
    }

    @ConformanceTest
    void required_F09_closeIsRefusedWhileAStreamIsOut(Subject subject) {
        if (!subject.factory().isStreamAware(subject.memory())) {
            throw Expect.skip("the factory makes no streams for this memory");
        }
        final SyncStream stream = subject.stream();
        Expect.refusal(
                IllegalStateException.class,
                "close of the factory with a stream out",
                () -> subject.factory().close());
        stream.flush();
    }

    @ConformanceTest(Scope.FACTORY)
    void required_F09_aSecondCloseDoesNothing(Subject subject) {
        subject.factory().close();
        subject.factory().close();
    }

    @ConformanceTest
    void required_F10_memoriesAreIndependent(Subject subject) {
        final List<MemoryInfo> others = subject.memories().stream()
                .filter(info -> !info.equals(subject.memory()))
                .toList();
        if (others.isEmpty()) {
            throw Expect.skip("the factory lists this memory only");
        }
        final Allocator own = subject.allocator();
        final boolean counts = subject.counts(own);
        final AllocatorStats before = counts ? own.stats() : AllocatorStats.NONE;
        for (final MemoryInfo info : others) {
            final Allocator other = subject.create(info, Map.of());
            final long address = other.alloc(1000);
            final boolean isUntouched = !counts || own.stats().equals(before);
            other.free(address);
            subject.release(other);
            Expect.that(
                    isUntouched && (!counts || own.stats().equals(before)),
                    "using %s changed the statistics of %s from %s to %s",
                    info,
                    subject.memory(),
                    before,
                    counts ? own.stats() : before);
            own.free(own.alloc(1000));
            if (counts) {
                break;
            }
        }
    }

    // Levels and lifetimes

    @ConformanceTest
    void required_L01_theLevelIsOneOfThisContract(Subject subject) {
        final int level = subject.allocator().spiLevel();
        Expect.that(
                level >= SpiLevel.MINIMUM && level <= SpiLevel.CURRENT,
                "the level is %d; this contract has %d to %d. A provider states a constant of its own, the level it was"
                        + " written for",
                level,
                SpiLevel.MINIMUM,
                SpiLevel.CURRENT);
    }

    @ConformanceTest
    void optional_L01_theLevelCoversWhatTheTypeOffers(Subject subject) {
        final Allocator allocator = subject.allocator();
        Expect.that(
                !(allocator instanceof StreamAwareAllocator) || allocator.spiLevel() >= SpiLevel.STREAMS,
                "a StreamAwareAllocator of level %d: the runtime will never use its streams",
                allocator.spiLevel());
        Expect.that(
                !(allocator instanceof ShrinkableAllocator) || allocator.spiLevel() >= SpiLevel.SHRINK,
                "a ShrinkableAllocator of level %d: the runtime will never shrink it",
                allocator.spiLevel());
    }

    @ConformanceTest
    void required_L02_aClosedAllocatorRefusesEveryUse(Subject subject) {
        final Allocator allocator = subject.allocator();
        final SyncStream stream =
                allocator instanceof StreamAwareAllocator && subject.factory().isStreamAware(subject.memory())
                        ? subject.stream()
                        : null;
        final long address = allocator.alloc(64);
        allocator.free(address);
        subject.release(allocator);
        final String after = " after the last release";
        Expect.refusal(AllocatorClosedException.class, "alloc" + after, () -> allocator.alloc(64));
        Expect.refusal(AllocatorClosedException.class, "free" + after, () -> allocator.free(address));
        Expect.refusal(AllocatorClosedException.class, "reserve" + after, () -> allocator.reserve(64));
        if (allocator.spiLevel() >= SpiLevel.STATISTICS) {
            Expect.refusal(AllocatorClosedException.class, "stats" + after, allocator::stats);
        }
        if (allocator instanceof ShrinkableAllocator shrinkable) {
            Expect.refusal(AllocatorClosedException.class, "shrink" + after, shrinkable::shrink);
        }
        if (stream != null && allocator instanceof StreamAwareAllocator streamAware) {
            Expect.refusal(
                    AllocatorClosedException.class,
                    "allocOnStream" + after,
                    () -> streamAware.allocOnStream(64, stream));
        }
    }

    @ConformanceTest
    void required_L02_aClosedFactoryCreatesNothing(Subject subject) {
        final EpFactory factory = subject.factory();
        final boolean hasStreams = factory.isStreamAware(subject.memory());
        factory.close();
        Expect.refusal(
                AllocatorClosedException.class, "createAllocator of a closed factory", () -> subject.allocator());
        if (hasStreams) {
            Expect.refusal(
                    AllocatorClosedException.class, "createSyncStream of a closed factory", () -> subject.stream());
        }
    }

    @ConformanceTest
    void required_L03_theFactoryDoesNotEndBeneathLiveMemory(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long address = allocator.alloc(4096);
        try {
            subject.factory().close();
        } catch (IllegalStateException refused) {
            Expect.that(refused.getMessage() != null, "close was refused without a word about what is still out");
        }
        Contents.of(subject, allocator).ifPresent(contents -> {
            contents.fill(address, 4096, 3);
            contents.verify(address, 4096, 3, "after close was refused,");
        });
        allocator.free(address);
    }

    /** An allocator that no provider made. */
    private record ForeignAllocator(MemoryInfo info) implements Allocator {
        @Override
        public long alloc(long byteSize) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void free(long address) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int spiLevel() {
            return SpiLevel.MINIMUM;
        }
    }
}
