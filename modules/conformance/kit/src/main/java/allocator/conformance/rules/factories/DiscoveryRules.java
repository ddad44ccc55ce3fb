package allocator.conformance.rules.factories;

import allocator.conformance.DeviceProbe;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.ConformanceTest.Scope;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.conformance.subject.Workers;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.OptionKey;
import allocator.spi.UnsupportedMemoryException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Chapters M and F: what a factory lists, and the memories its allocators serve. */
public abstract class DiscoveryRules extends Chapter {
    @ConformanceTest(Scope.FACTORY)
    void required_F01_constructingTouchesNoDevice(Subject subject) {
        final DeviceProbe probe = subject.requireProbe();
        final EpFactory factory = subject.factory();
        Expect.that(
                !factory.name().isBlank() && probe.calls() == 0,
                "constructing and naming the factory made %d calls to the device; the first may come from "
                        + "discoverDevices",
                probe.calls());
    }

    /** Never run here: the runner does it, in a process of its own. */
    @ConformanceTest(Scope.FACTORY)
    void required_F01_loadingAndNamingCallNothingNative(Subject subject) {
        throw Expect.skip("it needs the runner, which loads the provider in a process without native access");
    }

    @ConformanceTest(Scope.FACTORY)
    void required_F02_theFactoryNamesItselfAndStaysTheSame(Subject subject) {
        final EpFactory factory = subject.factory();
        final String name = factory.name();
        Expect.that(
                name.matches("\\S+"),
                "the name is '%s'; it is part of option keys, so it must not be empty or contain blanks",
                name);
        Expect.that(!factory.vendor().isBlank(), "the vendor is blank");
        Expect.that(!factory.version().isBlank(), "the version is blank");
        final int priority = factory.priority();
        final Set<String> keys = new HashSet<>();
        for (final OptionKey<?> key : factory.optionKeys()) {
            Expect.that(keys.add(key.name()), "the option %s is listed twice", key.name());
        }
        factory.discoverDevices();
        Expect.that(factory.name().equals(name), "the name was '%s' and is now '%s'", name, factory.name());
        Expect.that(factory.priority() == priority, "the priority was %d and is now %d", priority, factory.priority());
    }

    @ConformanceTest(Scope.FACTORY)
    void required_F02_devicesAndTheirOrderStay(Subject subject) throws Throwable {
        final DeviceDiscovery first = subject.factory().discoverDevices();
        for (final MemoryInfo info : subject.memories()) {
            final Allocator allocator = subject.create(info, Map.of());
            final long live = allocator.alloc(1000);
            requireSame(first, subject.factory().discoverDevices(), "while " + info + " is in use");
            allocator.free(live);
            subject.release(allocator);
        }
        requireSame(first, subject.factory().discoverDevices(), "later");
        Workers.run(
                Thread.ofVirtual(),
                1,
                _ -> requireSame(first, subject.factory().discoverDevices(), "on a virtual thread"));
    }

    private static void requireSame(DeviceDiscovery first, DeviceDiscovery now, String when) {
        Expect.that(
                first.devices().equals(now.devices()),
                "discoverDevices returned %s, and %s %s",
                first.devices(),
                when,
                now.devices());
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

    @ConformanceTest
    void required_F05_unlistedMemoryIsRefused(Subject subject) {
        final MemoryInfo info = subject.memory();
        final MemoryLocation location = info.location();
        final MemoryInfo unlisted = new MemoryInfo(
                info.name(),
                new MemoryLocation(
                        location.deviceType(), location.vendorId(), subject.absentOrdinal(), location.memoryType()),
                info.byteAlignment(),
                info.allocatorType());
        Expect.rejection(
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
            final AllocatorStats beside = counts ? own.stats() : before;
            other.free(address);
            subject.release(other);
            final String fault = "using " + info + " changed the statistics of " + subject.memory();
            subject.requireSame(before, beside, fault);
            subject.requireSame(before, counts ? own.stats() : before, fault);
            own.free(own.alloc(1000));
            if (counts) {
                break;
            }
        }
    }
}
