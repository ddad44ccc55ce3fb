package allocator.conformance.rules.factories;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SpiLevel;
import allocator.spi.UnknownAllocatorException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Chapters F and O: shared and exclusive instances, and several factories beside one another. */
public abstract class InstanceRules extends Chapter {
    private static final long MIB = 1 << 20;
    private static final Map<String, String> EXCLUSIVE = Map.of(OptionKey.EXCLUSIVE.name(), "1");

    /** Creates that must be rejected, by what is wrong with them. */
    private static Map<String, Runnable> wrongCreates(Subject subject) {
        final EpFactory factory = subject.factory();
        final MemoryInfo info = subject.memory();
        final Map<String, Runnable> calls = new LinkedHashMap<>();
        calls.put(
                "an unknown option",
                () -> factory.createAllocator(info, AllocatorOptions.of(Map.of("no.such.key", "1"))));
        for (final OptionKey<?> key : factory.optionKeys()) {
            calls.put(
                    key.name() + "='no value'",
                    () -> factory.createAllocator(info, AllocatorOptions.of(Map.of(key.name(), "no value"))));
            calls.put(
                    key.name() + " and an unknown option",
                    () -> factory.createAllocator(
                            info, AllocatorOptions.of(Map.of(key.name(), defaultOf(key), "no.such.key", "1"))));
        }
        return calls;
    }

    private static <T> String defaultOf(OptionKey<T> key) {
        return key.format(key.defaultValue());
    }

    @ConformanceTest
    void required_O01_optionsAreCheckedWhereAnInstanceExists(Subject subject) {
        final Allocator existing = subject.allocator();
        wrongCreates(subject)
                .forEach((what, call) -> Expect.rejection(
                        InvalidOptionException.class, "a second createAllocator with " + what, call::run));
        existing.free(existing.alloc(100));
    }

    @ConformanceTest
    void required_O06_anExclusiveInstanceBeforeASharedOne(Subject subject) {
        subject.requireKey(OptionKey.EXCLUSIVE.name());
        final Allocator own = subject.allocator(EXCLUSIVE);
        final Allocator shared = subject.allocator();
        Expect.that(
                !Expect.same(own, shared),
                "%s=1 returned an instance; the next create without it returned the same",
                OptionKey.EXCLUSIVE.name());
        final boolean counts = subject.counts(own) && subject.counts(shared);
        final AllocatorStats before = counts ? own.stats() : AllocatorStats.NONE;
        final long address = shared.alloc(5000);
        if (counts) {
            subject.requireSame(
                    before,
                    own.stats(),
                    "an allocation of the shared instance changed the statistics of an exclusive one");
        }
        subject.release(own);
        Expect.rejection(AllocatorClosedException.class, "alloc of a released exclusive instance", () -> own.alloc(1));
        shared.free(address);
        shared.free(shared.alloc(5000));
        final Allocator other = subject.allocator(EXCLUSIVE);
        subject.release(shared);
        other.free(other.alloc(100));
    }

    @ConformanceTest
    void required_F10_factoriesAreIndependent(Subject subject) {
        final Allocator own = subject.allocator();
        final boolean counts = subject.counts(own);
        final long address = own.alloc(3 * MIB);
        final EpFactory elsewhere = subject.newFactory();
        elsewhere.discoverDevices();
        try {
            final AllocatorStats before = counts ? own.stats() : AllocatorStats.NONE;
            final Allocator other = elsewhere.createAllocator(subject.memory(), AllocatorOptions.EMPTY);
            try {
                requireIndependent(subject, own, other, address);
                if (counts) {
                    subject.requireSame(before, own.stats(), "the allocator of another factory changed the statistics");
                }
                Expect.rejection(
                        UnknownAllocatorException.class,
                        "a release to another factory than the one that created the allocator",
                        () -> subject.factory().releaseAllocator(other));
                Expect.rejection(
                        UnknownAllocatorException.class,
                        "a release to another factory than the one that created the allocator",
                        () -> elsewhere.releaseAllocator(own));
                other.free(other.alloc(100));
            } finally {
                elsewhere.releaseAllocator(other);
            }
        } finally {
            elsewhere.close();
        }
        own.free(address);
        own.free(own.alloc(100));
        subject.release(subject.allocator());
    }

    private static void requireIndependent(Subject subject, Allocator own, Allocator other, long address) {
        Expect.that(!Expect.same(own, other), "two factories returned the same allocator");
        final Blocks blocks = new Blocks();
        blocks.add(address, 3 * MIB);
        final long there = other.alloc(3 * MIB);
        if (subject.probe().isEmpty()) {
            // Two simulated devices may have the same addresses.
            blocks.add(there, 3 * MIB);
        }
        if (other.spiLevel() >= SpiLevel.STATISTICS && other.stats().bytesInUse() > 0) {
            Expect.that(
                    other.stats().requestedBytesInUse() == 3 * MIB,
                    "a block of 3 MiB is live in the allocator of a new factory; requestedBytesInUse is %d",
                    other.stats().requestedBytesInUse());
        }
        other.free(there);
    }

    @ConformanceTest
    void required_F05_eachListedInfoHasItsAllocator(Subject subject) {
        final List<MemoryInfo> memories = new ArrayList<>(subject.memories());
        memories.remove(subject.memory());
        final List<Allocator> all = new ArrayList<>(List.of(subject.allocator()));
        for (final MemoryInfo info : memories) {
            all.add(subject.create(info, Map.of()));
        }
        memories.addFirst(subject.memory());
        for (int i = 0; i < all.size(); i++) {
            final MemoryInfo asked = memories.get(i);
            final MemoryInfo got = all.get(i).info();
            Expect.that(
                    got.equals(asked)
                            && got.isReadOnly() == asked.isReadOnly()
                            && got.byteAlignment() == asked.byteAlignment(),
                    "%s with alignment %d was requested beside others, and %s with alignment %d returned",
                    asked,
                    asked.byteAlignment(),
                    got,
                    got.byteAlignment());
            final long address = all.get(i).alloc(100);
            Expect.that(
                    address % asked.byteAlignment() == 0,
                    "a block of %s is at %s, no multiple of %d",
                    asked,
                    Expect.hex(address),
                    asked.byteAlignment());
            all.get(i).free(address);
        }
    }

    @ConformanceTest
    void required_F08_aRejectedCreateChangesNoSettings(Subject subject) {
        final Allocator allocator = subject.allocator();
        final AllocatorOptions before = allocator.effectiveOptions();
        final boolean counts = subject.counts(allocator);
        final long limit = counts ? allocator.stats().limit() : 0;
        for (final OptionKey<?> key : subject.factory().optionKeys()) {
            for (final String value : SettingRules.accepted(key)) {
                Expect.rejection(
                        InvalidOptionException.class,
                        "createAllocator with " + key.name() + "=" + value + " and an unknown option",
                        () -> subject.create(subject.memory(), Map.of(key.name(), value, "zz.no.such.key", "1")));
            }
        }
        Expect.that(
                allocator.effectiveOptions().equals(before),
                "rejected creates changed the effective options from %s to %s",
                before,
                allocator.effectiveOptions());
        Expect.that(
                !counts || allocator.stats().limit() == limit,
                "rejected creates changed the limit from %d to %d",
                limit,
                counts ? allocator.stats().limit() : 0);
        allocator.free(allocator.alloc(20 * MIB));
    }
}
