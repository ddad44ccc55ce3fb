package allocator.conformance.rules.factories;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.ConformanceTest.Scope;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.MemoryInfo;
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
}
