package allocator.conformance.rules.factories;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.ConformanceTest.Scope;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Chapter M: a provider looks memories up by their locations, and by nothing else. */
public abstract class LookupRules extends Chapter {
    /** The lookups of a provider, by name; each returns whether it knows a memory. */
    private static Map<String, Predicate<MemoryInfo>> lookups(Subject subject) {
        final Map<String, Predicate<MemoryInfo>> lookups = new LinkedHashMap<>();
        lookups.put("createAllocator", info -> {
            try {
                subject.release(subject.create(info, Map.of()));
                return true;
            } catch (AllocatorException rejected) {
                return false;
            }
        });
        if (subject.factory().isStreamAware(subject.memory())) {
            lookups.put("isStreamAware", subject.factory()::isStreamAware);
            lookups.put("createSyncStream", info -> {
                try {
                    subject.factory().createSyncStream(info).close();
                    return true;
                } catch (AllocatorException rejected) {
                    return false;
                }
            });
        }
        subject.factory().dataTransfer().ifPresent(transfer -> {
            if (transfer.canCopy(Contents.HOST, subject.memory())) {
                lookups.put("canCopy to it", info -> transfer.canCopy(Contents.HOST, info));
            }
            if (transfer.canCopy(subject.memory(), Contents.HOST)) {
                lookups.put("canCopy from it", info -> transfer.canCopy(info, Contents.HOST));
            }
        });
        return lookups;
    }

    @ConformanceTest
    void required_M01_anotherNameIsTheSameMemory(Subject subject) {
        final MemoryInfo info = subject.memory();
        if (info.isReadOnly()) {
            throw Expect.skip("memory for read-only data has its location in common with other memory");
        }
        final List<MemoryInfo> same = List.of(
                new MemoryInfo(info.name() + "Alias", info.location(), info.byteAlignment(), info.allocatorType()),
                new MemoryInfo(info.name(), info.location(), 2 * info.byteAlignment(), info.allocatorType()));
        final Map<String, Predicate<MemoryInfo>> copies = lookups(subject);
        copies.keySet().removeIf(name -> !name.startsWith("canCopy"));
        if (copies.isEmpty()) {
            throw Expect.skip(
                    "the provider has no copies, and may reject what is not equal to a listed info elsewhere");
        }
        copies.forEach((name, lookup) -> {
            for (final MemoryInfo alias : same) {
                Expect.that(
                        lookup.test(alias),
                        "%s does not know %s with alignment %d, which has the location of %s with alignment %d",
                        name,
                        alias,
                        alias.byteAlignment(),
                        info,
                        info.byteAlignment());
            }
        });
    }

    @ConformanceTest
    void required_M01_anotherLocationIsAnotherMemory(Subject subject) {
        final MemoryInfo info = subject.memory();
        final MemoryLocation place = info.location();
        final List<MemoryInfo> listed = subject.memories();
        final List<MemoryLocation> others = List.of(
                new MemoryLocation(
                        place.deviceType(), place.vendorId() ^ 0x5A5A, place.deviceOrdinal(), place.memoryType()),
                new MemoryLocation(place.deviceType(), place.vendorId(), subject.absentOrdinal(), place.memoryType()),
                new MemoryLocation(
                        place.deviceType() == DeviceType.FPGA ? DeviceType.GPU : DeviceType.FPGA,
                        place.vendorId(),
                        place.deviceOrdinal(),
                        place.memoryType()),
                new MemoryLocation(
                        place.deviceType(),
                        place.vendorId(),
                        place.deviceOrdinal(),
                        place.memoryType() == MemoryType.DEFAULT ? MemoryType.HOST_ACCESSIBLE : MemoryType.DEFAULT));
        lookups(subject).forEach((name, lookup) -> {
            for (final MemoryLocation other : others) {
                final MemoryInfo stranger =
                        new MemoryInfo(info.name(), other, info.byteAlignment(), info.allocatorType());
                final boolean isListed = listed.stream().anyMatch(stranger::isSameMemoryAs);
                // A transfer may reach memory of the host that the factory does not list, under each name (D-03).
                final MemoryInfo alias =
                        new MemoryInfo(info.name() + "Alias", other, info.byteAlignment(), info.allocatorType());
                final boolean mayBeKnown = isListed
                        || (name.startsWith("canCopy")
                                && (other.deviceType() == DeviceType.CPU
                                        || other.memoryType() == MemoryType.HOST_ACCESSIBLE)
                                && lookup.test(alias));
                Expect.that(
                        mayBeKnown || !lookup.test(stranger),
                        "%s takes %s of vendor %d, which is not listed, for %s of vendor %d",
                        name,
                        stranger,
                        other.vendorId(),
                        info,
                        place.vendorId());
            }
        });
    }

    @ConformanceTest(Scope.FACTORY)
    void required_M01_theHostIsTheHostUnderEachName(Subject subject) {
        final DataTransfer transfer =
                subject.factory().dataTransfer().orElseThrow(() -> Expect.skip("the provider has no DataTransfer"));
        final MemoryInfo other = new MemoryInfo("Cpu", Contents.HOST.location(), 64, AllocatorType.DEVICE);
        for (final MemoryInfo info : subject.memories()) {
            Expect.that(
                    transfer.canCopy(Contents.HOST, info) == transfer.canCopy(other, info)
                            && transfer.canCopy(info, Contents.HOST) == transfer.canCopy(info, other),
                    "copies between %s and %s, or %s, are not the same: both are the host",
                    info,
                    Contents.HOST,
                    other);
            for (final MemoryInfo same : subject.memories()) {
                Expect.that(
                        !same.isSameMemoryAs(info)
                                || transfer.canCopy(same, Contents.HOST) == transfer.canCopy(info, Contents.HOST),
                        "copies from %s and from %s are not the same: both have the location %s",
                        info,
                        same,
                        info.location());
            }
        }
    }

    @ConformanceTest(Scope.FACTORY)
    void required_F03_whatIsListedCanBeUsed(Subject subject) {
        for (final MemoryInfo info : subject.memories()) {
            try {
                final Allocator allocator = subject.create(info, Map.of());
                allocator.free(allocator.alloc(1));
                subject.release(allocator);
            } catch (AllocatorException e) {
                throw Expect.failure(
                        info + " is listed, and cannot be used: " + Expect.describe(e) + "; a device that is not"
                                + " usable is not listed, and a note says why",
                        e);
            }
        }
    }

    @ConformanceTest
    void required_M01_copiesTakeEachNameOfAMemory(Subject subject) {
        final DataTransfer transfer = Contents.transfer(subject, subject.memory())
                .orElseThrow(() -> Expect.skip("the provider has no DataTransfer between host and this memory"));
        final MemoryInfo info = subject.memory();
        final Allocator allocator = subject.allocator();
        final MemoryInfo host = new MemoryInfo("Cpu", Contents.HOST.location(), 64, AllocatorType.DEVICE);
        final MemoryInfo alias =
                new MemoryInfo(info.name() + "Alias", info.location(), info.byteAlignment(), info.allocatorType());
        final long address = allocator.alloc(1000);
        try (Arena lifetime = Arena.ofConfined()) {
            final MemorySegment source = lifetime.allocate(1000, 64);
            final MemorySegment target = lifetime.allocate(1000, 64);
            Contents.write(source, 71);
            transfer.copy(new MemoryRange(host, source.address(), 1000), new MemoryRange(alias, address, 1000), null);
            transfer.copy(new MemoryRange(info, address, 1000), new MemoryRange(host, target.address(), 1000), null);
            Contents.difference(target, 71)
                    .ifPresent(fault -> Expect.that(false, "copied under other names of both memories: %s", fault));
        }
        allocator.free(address);
    }

    @ConformanceTest
    void required_M01_aCopyWithinTheMemoryTakesEachName(Subject subject) {
        final MemoryInfo info = subject.memory();
        final DataTransfer transfer =
                subject.factory().dataTransfer().orElseThrow(() -> Expect.skip("the provider has no DataTransfer"));
        if (info.isReadOnly() || !transfer.canCopy(info, info)) {
            throw Expect.skip("the provider has no copies within this memory");
        }
        final MemoryInfo alias =
                new MemoryInfo(info.name() + "Alias", info.location(), info.byteAlignment(), info.allocatorType());
        final Allocator allocator = subject.allocator();
        final long from = allocator.alloc(1000);
        final long to = allocator.alloc(1000);
        transfer.copy(new MemoryRange(alias, from, 1000), new MemoryRange(info, to, 1000), null);
        transfer.copy(new MemoryRange(info, from, 1000), new MemoryRange(alias, to, 1000), null);
        allocator.free(from);
        allocator.free(to);
    }

    @ConformanceTest
    void required_F05_theInfoIsTheOneAskedForOrItIsRejected(Subject subject) {
        final MemoryInfo info = subject.memory();
        final MemoryInfo alias =
                new MemoryInfo(info.name() + "Alias", info.location(), info.byteAlignment(), info.allocatorType());
        final Allocator allocator;
        try {
            allocator = subject.create(alias, Map.of());
        } catch (UnsupportedMemoryException e) {
            return; // as it may be
        }
        Expect.that(
                allocator.info().equals(alias),
                "an allocator was created for %s, and its info is %s",
                alias,
                allocator.info());
        subject.release(allocator);
    }
}
