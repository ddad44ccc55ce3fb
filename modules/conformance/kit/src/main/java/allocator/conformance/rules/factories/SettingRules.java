package allocator.conformance.rules.factories;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Chapter O: each setting in company: of other settings, of other origins, of work, and of limits to the byte. */
public abstract class SettingRules extends Chapter {
    private static final long MIB = 1 << 20;
    private static final List<String> NUMBERS =
            List.of("0", "1", "2", "255", "256", "4096", "10000", "65536", "1000001", "16777216");

    /** Returns values that a key accepts: numbers, and the words that it lists. */
    static List<String> accepted(OptionKey<?> key) {
        final Set<String> candidates = new LinkedHashSet<>(NUMBERS);
        candidates.addAll(Arrays.asList(key.accepted().replace("one of ", "").split("[ ,;]+", -1)));
        final List<String> accepted = new ArrayList<>();
        for (final String candidate : candidates) {
            if (OptionRules.accepts(key, candidate)) {
                accepted.add(candidate);
            }
        }
        return accepted;
    }

    @ConformanceTest
    void required_O01_aValueIsCheckedWhateverTheOthersAre(Subject subject) {
        final List<OptionKey<?>> keys = subject.factory().optionKeys();
        if (keys.size() < 2) {
            throw Expect.skip("the provider has fewer than two options");
        }
        for (final OptionKey<?> wrong : keys) {
            for (final OptionKey<?> other : keys) {
                if (!wrong.name().equals(other.name())) {
                    for (final String value : accepted(other)) {
                        final InvalidOptionException rejection = Expect.rejection(
                                InvalidOptionException.class,
                                "createAllocator with " + wrong.name() + "='no value' and " + other.name() + "="
                                        + value,
                                () -> subject.allocator(Map.of(wrong.name(), "no value", other.name(), value)));
                        Expect.that(
                                rejection.key().equals(wrong.name()),
                                "%s='no value' was rejected as a value of %s",
                                wrong.name(),
                                rejection.key());
                    }
                }
            }
        }
    }

    @ConformanceTest
    void required_O04_settingsOfAnyOriginAreEffective(Subject subject) {
        for (final String origin : List.of("explicit call", "session", "environment", "a vendor's file")) {
            for (final OptionKey<?> key : subject.factory().optionKeys()) {
                for (final String value : accepted(key)) {
                    if (!key.name().equals(OptionKey.EXCLUSIVE.name())) {
                        OptionRules.reportsEffective(subject, key, value, origin);
                    }
                }
            }
        }
    }

    private static void requireTruthful(Subject subject, ShrinkableAllocator allocator, boolean counts, String where) {
        final AllocatorStats before = counts ? allocator.stats() : AllocatorStats.NONE;
        final ShrinkReport report = allocator.shrink();
        final AllocatorStats after = counts ? allocator.stats() : AllocatorStats.NONE;
        Expect.that(
                before.equals(AllocatorStats.NONE)
                        || (subject.isReturned(report.bytesReleased(), before.bytesHeld() - after.bytesHeld())
                                && subject.isReturned(0, report.bytesHeld() - after.bytesHeld())),
                "%sa shrink reports %s; bytesHeld went from %d to %d",
                where,
                report,
                before.bytesHeld(),
                after.bytesHeld());
    }

    @ConformanceTest
    void required_K02_reportsAreTrueUnderEachSetting(Subject subject) {
        subject.release(subject.shrinkable(Map.of()));
        for (final OptionKey<?> key : subject.factory().optionKeys()) {
            for (final String value : accepted(key)) {
                if (!subject.hasTime()) {
                    return;
                }
                final Map<String, String> options = new HashMap<>();
                if (subject.hasKey(Subject.LIMIT)) {
                    options.put(Subject.LIMIT, Long.toString(Math.max(32 * MIB, subject.smallestLimit())));
                }
                options.put(key.name(), value);
                final Optional<ShrinkableAllocator> shrinkable = Subject.ifShrinkable(subject.allocator(options))
                        .or(() -> Subject.ifShrinkable(subject.exclusive(options)));
                if (shrinkable.isEmpty()) {
                    continue;
                }
                final ShrinkableAllocator allocator = shrinkable.get();
                final boolean counts = allocator.spiLevel() >= SpiLevel.STATISTICS;
                final List<Long> live = new ArrayList<>();
                try {
                    for (int i = 0; i < 300; i++) {
                        live.add(allocator.alloc(100 + i * 31L));
                    }
                } catch (OutOfMemoryException full) {
                    Expect.that(full.shortage().requested() > 0, "%s", full.getMessage());
                }
                for (int i = 0; i < live.size(); i += 2) {
                    allocator.free(live.get(i));
                }
                requireTruthful(subject, allocator, counts, "with " + key.name() + "=" + value + " and blocks live, ");
                for (int i = 1; i < live.size(); i += 2) {
                    allocator.free(live.get(i));
                }
                requireTruthful(subject, allocator, counts, "with " + key.name() + "=" + value + " and nothing live, ");
                subject.release(allocator);
            }
        }
    }
}
