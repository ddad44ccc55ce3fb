package allocator.conformance.rules.factories;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.ConformanceTest.Scope;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SpiLevel;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Chapter O: options are checked before anything is created, and the effective ones are reported. */
public abstract class OptionRules extends Chapter {
    /** A number above it may be too large to be rounded up. */
    private static final long NEARLY_LARGEST = Long.MAX_VALUE - (1L << 30);

    private static final String ORIGIN = "conformance kit";
    private static final long MIB = 1 << 20;

    /** Edge cases of values; each key itself decides which of them it accepts. */
    private static final List<String> VALUES = List.of(
            "",
            " ",
            "0",
            "1",
            "2",
            "-1",
            "255",
            "256",
            "257",
            "65536",
            "1000001",
            "1073741825",
            "4294967296",
            "9223372036854775552",
            "9223372036854775553",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "1 ",
            " 1",
            "+1",
            "1.5",
            "1e6",
            "0x10",
            "1k",
            "true",
            "not_a_number",
            "100abc");

    static boolean accepts(OptionKey<?> key, String value) {
        try {
            key.parse(value, ORIGIN);
            return true;
        } catch (InvalidOptionException e) {
            return false;
        }
    }

    /** Runs a check with each key and each of {@link #VALUES} that the key accepts, or does not accept. */
    private static void forEachValue(Subject subject, boolean accepted, BiConsumer<OptionKey<?>, String> check) {
        final List<OptionKey<?>> keys = subject.factory().optionKeys();
        if (keys.isEmpty()) {
            throw Expect.skip("the provider has no options");
        }
        for (final OptionKey<?> key : keys) {
            for (final String value : VALUES) {
                if (accepts(key, value) == accepted) {
                    check.accept(key, value);
                }
            }
        }
    }

    @ConformanceTest
    void required_O01_valuesThatAreNotAcceptedAreRefused(Subject subject) {
        forEachValue(subject, false, (key, value) -> {
            final InvalidOptionException rejection = Expect.rejection(
                    InvalidOptionException.class,
                    "createAllocator with " + key.name() + "='" + value + "', which is not " + key.accepted() + ",",
                    () -> subject.allocator(Map.of(key.name(), value)));
            requireNamed(rejection, key.name(), value);
        });
        subject.allocator();
    }

    private static void requireNamed(InvalidOptionException rejection, String key, String value) {
        Expect.that(
                rejection.key().equals(key)
                        && rejection.value().equals(value)
                        && rejection.origin().equals(ORIGIN)
                        && !rejection.accepted().isBlank(),
                "the rejection of %s='%s' from %s names key '%s', value '%s', origin '%s', accepted '%s'",
                key,
                value,
                ORIGIN,
                rejection.key(),
                rejection.value(),
                rejection.origin(),
                rejection.accepted());
    }

    @ConformanceTest
    void required_O02_anUnknownKeyIsRefusedWithTheNearestName(Subject subject) {
        final List<OptionKey<?>> keys = subject.factory().optionKeys();
        final InvalidOptionException plain = Expect.rejection(
                InvalidOptionException.class,
                "createAllocator with the unknown key no.such.key",
                () -> subject.allocator(Map.of("no.such.key", "1")));
        requireNamed(plain, "no.such.key", "1");
        final Map<String, String> messages = new HashMap<>();
        for (final OptionKey<?> key : keys) {
            final String misspelt = key.name() + "x";
            final InvalidOptionException rejection = Expect.rejection(
                    InvalidOptionException.class,
                    "createAllocator with the misspelt key " + misspelt,
                    () -> subject.allocator(Map.of(misspelt, "1")));
            Expect.that(
                    String.valueOf(rejection.getMessage()).contains(key.name()),
                    "the rejection of %s does not name %s: %s",
                    misspelt,
                    key.name(),
                    rejection.getMessage());
            final String before =
                    messages.put(String.valueOf(rejection.getMessage()).replace(misspelt, ""), key.name());
            Expect.that(
                    before == null,
                    "%sx and %s are rejected with the same words, which cannot name the closest key of both: %s",
                    before,
                    misspelt,
                    rejection.getMessage());
        }
    }

    @ConformanceTest
    void required_O03_everyAcceptedValueWorks(Subject subject) {
        forEachValue(subject, true, (key, value) -> {
            final Allocator allocator = subject.allocator(withinReason(subject, key.name(), value));
            useOrRunOut(allocator, key.name() + "='" + value + "'");
            subject.release(allocator);
        });
    }

    /** Returns the setting under test with a limit, if there is one: taking gigabytes of memory takes too long. */
    private static Map<String, String> withinReason(Subject subject, String name, String value) {
        return name.equals(Subject.LIMIT) || !subject.hasKey(Subject.LIMIT)
                ? Map.of(name, value)
                : Map.of(name, value, Subject.LIMIT, Long.toString(64 * MIB));
    }

    /** Uses an allocator; where the setting leaves no room, requests must fail with {@code OutOfMemoryException}. */
    private static void useOrRunOut(Allocator allocator, String setting) {
        for (final long byteSize : new long[] {1, 1000, 3 * MIB, 100}) {
            try {
                allocator.free(allocator.alloc(byteSize));
            } catch (OutOfMemoryException e) {
                Expect.that(e.shortage().requested() == byteSize, "with %s: %s", setting, e.getMessage());
            } catch (RuntimeException e) {
                throw Expect.failure(
                        "with " + setting + ", which is accepted, alloc(" + byteSize + ") failed with "
                                + Expect.describe(e),
                        e);
            }
        }
    }

    @ConformanceTest
    void required_O03_sizesOfArenasAreRoundedUp(Subject subject) {
        boolean any = false;
        for (final OptionKey<?> key : subject.factory().optionKeys()) {
            if (accepts(key, "257") && key.parse("257", ORIGIN).equals(512L)) {
                final String value = effective(subject, key, "257");
                any |= value != null;
                Expect.that(
                        value == null || value.equals("512"),
                        "%s=257 is effective as %s instead of 512",
                        key.name(),
                        value);
            }
        }
        if (!any) {
            throw Expect.skip("no size of an arena applies to this memory");
        }
    }

    private static @Nullable String effective(Subject subject, OptionKey<?> key, String requested) {
        final Allocator allocator = subject.allocator(Map.of(key.name(), requested));
        final String value = allocator.effectiveOptions().value(key.name());
        subject.release(allocator);
        return value;
    }

    @ConformanceTest
    void required_O05_effectiveOptionsReportTheEffectiveSettings(Subject subject) {
        final List<OptionKey<?>> keys = subject.factory().optionKeys();
        if (keys.isEmpty()) {
            throw Expect.skip("the provider has no options");
        }
        boolean any = false;
        for (final OptionKey<?> key : keys) {
            for (final String value : VALUES) {
                if (accepts(key, value)) {
                    any |= reportsEffective(subject, key, value, ORIGIN);
                }
            }
        }
        Expect.that(
                any || subject.memories().stream().anyMatch(info -> reportsAnything(subject, info)),
                "effectiveOptions has no value for any of the keys %s on any memory; a setting that does not "
                        + "apply may be"
                        + " missing, all of them may not",
                keys.stream().map(OptionKey::name).toList());
    }

    private static boolean reportsAnything(Subject subject, MemoryInfo info) {
        final Allocator allocator = subject.create(info, Map.of());
        final boolean reports = !allocator.effectiveOptions().isEmpty();
        subject.release(allocator);
        return reports;
    }

    /**
     * Returns whether a value is the expected one, a number rounded up from it, or another word for it. A number that
     * is too large to be rounded up may be rounded down.
     */
    static boolean isEffective(OptionKey<?> key, String value, String expected) {
        try {
            final long number = Long.parseLong(value);
            final long least = Long.parseLong(expected);
            return number >= least || (least > NEARLY_LARGEST && number > NEARLY_LARGEST);
        } catch (NumberFormatException noNumbers) {
            return accepts(key, value) && formatted(key, value).equals(expected);
        }
    }

    /** Returns the text of the value that a text means. */
    private static <T> String formatted(OptionKey<T> key, String text) {
        return key.format(key.parse(text, ORIGIN));
    }

    /** Returns whether an option is among the effective ones; fails unless these have its value and origin then. */
    static boolean reportsEffective(Subject subject, OptionKey<?> key, String requested, String origin) {
        final Allocator allocator = subject.factory()
                .createAllocator(subject.memory(), AllocatorOptions.of(Map.of(key.name(), requested), origin));
        final AllocatorOptions effective = allocator.effectiveOptions();
        final String value = effective.value(key.name());
        subject.factory().releaseAllocator(allocator);
        if (value == null) {
            return false;
        }
        final String expected = formatted(key, requested);
        Expect.that(
                isEffective(key, value, expected),
                "a new allocator was requested with %s=%s, which is parsed as %s; effectiveOptions returns %s",
                key.name(),
                requested,
                expected,
                value);
        Expect.that(
                effective.origin(key.name()).equals(origin),
                "%s was set by '%s'; effectiveOptions returns the origin '%s'",
                key.name(),
                origin,
                effective.origin(key.name()));
        return true;
    }

    @ConformanceTest
    void required_O05_theEffectiveLimitIsTheOneReported(Subject subject) {
        final Allocator first = subject.limited(8 * MIB);
        final Allocator second = subject.limited(16 * MIB);
        for (final Allocator allocator : List.of(first, second)) {
            final String reported = allocator.effectiveOptions().value(Subject.LIMIT);
            Expect.that(reported != null, "effectiveOptions has no %s, although it was set", Subject.LIMIT);
            if (allocator.spiLevel() >= SpiLevel.STATISTICS && subject.counts(allocator)) {
                final long limit = allocator.stats().limit();
                Expect.that(
                        Long.toString(limit).equals(reported),
                        "effectiveOptions returns %s=%s; the limit in the statistics is %d",
                        Subject.LIMIT,
                        reported,
                        limit);
            }
            final long beyond = Long.parseLong(String.valueOf(reported)) + 1;
            Expect.rejection(
                    OutOfMemoryException.class,
                    "alloc(" + beyond + ") with " + Subject.LIMIT + "=" + reported + " effective",
                    () -> allocator.alloc(beyond));
        }
    }

    /** A key may be missing from the effective options where it has no effect, and not where the kit sees one. */
    @ConformanceTest
    void required_O05_whatHasAnEffectIsReported(Subject subject) {
        final String key = OptionKey.EXCLUSIVE.name();
        final boolean limits = subject.hasKey(Subject.LIMIT);
        final boolean excludes = subject.hasKey(key);
        if (!limits && !excludes) {
            throw Expect.skip("the provider has neither %s nor %s", Subject.LIMIT, key);
        }
        final Allocator any = subject.allocator();
        if (excludes && Expect.same(subject.allocator(), any)) {
            requireReported(any, key, "0");
            final Allocator own = subject.allocator(Map.of(key, "1"));
            // An instance that others have too breaks O-06, and may report that it is shared.
            if (!Expect.same(own, any)) {
                requireReported(own, key, "1");
            }
        }
        if (limits) {
            final long limit = Math.max(4 * MIB, subject.smallestLimit());
            final Map<String, String> options = Map.of(Subject.LIMIT, Long.toString(limit));
            final Allocator limited = subject.exclusive(options);
            if (limited.effectiveOptions().value(Subject.LIMIT) == null && isGranted(any, 16 * limit)) {
                Expect.that(
                        isGranted(limited, 16 * limit),
                        "%s=%d has the effect that %d bytes are rejected; effectiveOptions does not report it",
                        Subject.LIMIT,
                        limit,
                        16 * limit);
            }
        }
    }

    private static void requireReported(Allocator allocator, String key, String value) {
        Expect.that(
                value.equals(allocator.effectiveOptions().value(key)),
                "users share instances, and effectiveOptions of one with %s=%s returns %s=%s",
                key,
                value,
                key,
                allocator.effectiveOptions().value(key));
    }

    private static boolean isGranted(Allocator allocator, long byteSize) {
        try {
            allocator.free(allocator.alloc(byteSize));
            return true;
        } catch (OutOfMemoryException full) {
            return false;
        }
    }

    @ConformanceTest
    void required_O06_noOtherUserGetsAnExclusiveInstance(Subject subject) {
        final Allocator shared = subject.allocator();
        final boolean sharesInstances = Expect.same(subject.allocator(), shared);
        if (!subject.hasKey(OptionKey.EXCLUSIVE.name())) {
            Expect.that(
                    !sharesInstances,
                    "the provider shares instances, so it must understand %s",
                    OptionKey.EXCLUSIVE.name());
            throw Expect.skip("the provider shares no instances");
        }
        final Map<String, String> exclusive = Map.of(OptionKey.EXCLUSIVE.name(), "1");
        final Allocator own = subject.allocator(exclusive);
        final Allocator ownToo = subject.allocator(exclusive);
        final Allocator sharedAgain = subject.allocator();
        Expect.that(
                !Expect.same(own, shared)
                        && !Expect.same(own, ownToo)
                        && !Expect.same(own, sharedAgain)
                        && !Expect.same(ownToo, sharedAgain),
                "%s=1 returned an instance that another user has as well",
                OptionKey.EXCLUSIVE.name());
        if (subject.hasKey(Subject.LIMIT) && own.effectiveOptions().value(Subject.LIMIT) != null) {
            final Allocator limited =
                    subject.allocator(Map.of(OptionKey.EXCLUSIVE.name(), "1", Subject.LIMIT, Long.toString(4 * MIB)));
            final long limit = subject.limitOf(limited);
            Expect.that(
                    limit != subject.limitOf(shared),
                    "%s=1 was requested with a limit of 4 MiB; the shared instance's limit of %d is effective",
                    OptionKey.EXCLUSIVE.name(),
                    limit);
            Expect.rejection(
                    OutOfMemoryException.class,
                    "alloc of a byte more than the limit of an exclusive instance",
                    () -> limited.alloc(limit + 1));
        }
    }

    @ConformanceTest(Scope.FACTORY)
    void required_O01_defaultsAreAcceptedValues(Subject subject) {
        final EpFactory factory = subject.factory();
        factory.optionKeys().forEach(OptionRules::requireDefaultAccepted);
    }

    private static <T> void requireDefaultAccepted(OptionKey<T> key) {
        final String text = key.format(key.defaultValue());
        Expect.that(
                accepts(key, text),
                "the default of %s is written %s, which is not %s",
                key.name(),
                text,
                key.accepted());
    }
}
