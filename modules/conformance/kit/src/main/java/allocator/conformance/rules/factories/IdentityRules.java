package allocator.conformance.rules.factories;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Chapters F, L and O: what a factory and an allocator say of themselves does not change by what happens to them. */
public abstract class IdentityRules extends Chapter {
    private static final long MIB = 1 << 20;

    /** What may happen to an allocator, by its name. */
    private static Map<String, Runnable> events(Subject subject, Allocator allocator) {
        final Map<String, Runnable> events = new LinkedHashMap<>();
        events.put("allocations and frees", () -> {
            final List<Long> live = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                live.add(allocator.alloc(1 + 997L * i));
            }
            live.forEach(allocator::free);
            allocator.free(allocator.alloc(20 * MIB));
        });
        events.put("a shortage", () -> fail(() -> allocator.alloc(1L << 50)));
        events.put("an invalid free", () -> fail(() -> allocator.free(4096)));
        if (allocator.spiLevel() >= SpiLevel.RESERVE) {
            events.put("a reserve", () -> allocator.free(allocator.reserve(100_000)));
        }
        Subject.ifShrinkable(allocator).ifPresent(shrinkable -> events.put("a shrink", shrinkable::shrink));
        subject.ifStreamAware(allocator)
                .ifPresent(aware -> events.put("a stream's run", () -> {
                    final SyncStream stream = subject.stream();
                    aware.free(aware.allocOnStream(1000, stream));
                    stream.onSessionRunEnd();
                    stream.close();
                }));
        events.put(
                "a rejected create",
                () -> fail(() -> subject.factory()
                        .createAllocator(subject.memory(), AllocatorOptions.of(Map.of("no.such.key", "1")))));
        events.put("another reference", () -> subject.release(subject.allocator()));
        return events;
    }

    private static void fail(Runnable call) {
        try {
            call.run();
        } catch (AllocatorException expected) {
            Expect.that(expected.getMessage() != null, "%s has no message", expected.getClass());
        }
    }

    private static void requireSame(String what, Object before, Object now, String event) {
        Expect.that(now.equals(before), "after %s, %s is %s; it was %s", event, what, now, before);
    }

    @ConformanceTest
    void required_F02_theFactoryStaysTheSameInUse(Subject subject) {
        final EpFactory factory = subject.factory();
        final List<String> names = names(factory);
        final List<EpDevice> devices = factory.discoverDevices().devices();
        final List<String> memories = memories(devices);
        final List<String> metadata = metadata(devices);
        final List<String> keys = keys(factory);
        final List<Boolean> streams =
                subject.memories().stream().map(factory::isStreamAware).toList();
        final boolean copies = factory.dataTransfer().isPresent();
        final Allocator allocator = subject.allocator();
        final long live = allocator.alloc(5000);
        events(subject, allocator).forEach((event, action) -> {
            action.run();
            requireSame("name, vendor and version", names, names(factory), event);
            requireSame(
                    "the list of devices", devices, factory.discoverDevices().devices(), event);
            requireSame(
                    "the list of memories",
                    memories,
                    memories(factory.discoverDevices().devices()),
                    event);
            requireSame("the list of options", keys, keys(factory), event);
            requireSame(
                    "what is stream-aware",
                    streams,
                    subject.memories().stream().map(factory::isStreamAware).toList(),
                    event);
            requireSame("metadata", metadata, metadata(factory.discoverDevices().devices()), event);
            requireSame("the presence of copies", copies, factory.dataTransfer().isPresent(), event);
        });
        allocator.free(live);
    }

    private static List<String> metadata(List<EpDevice> devices) {
        return devices.stream()
                .map(device -> device.hardware().toString() + device.hardware().metadata())
                .toList();
    }

    private static List<String> names(EpFactory factory) {
        return List.of(factory.name(), factory.vendor(), factory.version());
    }

    private static List<String> memories(List<EpDevice> devices) {
        return devices.stream()
                .flatMap(device -> device.memoryInfos().stream())
                .map(IdentityRules::describe)
                .toList();
    }

    private static String describe(MemoryInfo info) {
        return info.name() + " " + info.location() + " " + info.byteAlignment() + " " + info.allocatorType() + " "
                + info.isReadOnly();
    }

    private static List<String> keys(EpFactory factory) {
        return factory.optionKeys().stream().map(OptionKey::toString).toList();
    }

    @ConformanceTest
    void required_F05_theInfoStaysTheSameInUse(Subject subject) {
        final Allocator allocator = subject.allocator();
        final String info = describe(allocator.info());
        final long live = allocator.alloc(5000);
        events(subject, allocator).forEach((event, action) -> {
            action.run();
            requireSame("the allocator's info", info, describe(allocator.info()), event);
            requireSame("the allocator's info", subject.memory(), allocator.info(), event);
        });
        allocator.free(live);
    }

    @ConformanceTest
    void required_L01_theLevelStaysTheSameInUse(Subject subject) {
        final Allocator allocator = subject.allocator();
        final int level = allocator.spiLevel();
        final long live = allocator.alloc(5000);
        events(subject, allocator).forEach((event, action) -> {
            action.run();
            requireSame("the level", level, allocator.spiLevel(), event);
        });
        allocator.free(live);
        requireSame("the level", level, subject.allocator().spiLevel(), "a further create");
    }

    @ConformanceTest
    void required_O05_effectiveOptionsStayTheSameInUse(Subject subject) {
        final Allocator allocator = subject.allocator();
        final AllocatorOptions options = allocator.effectiveOptions();
        final boolean isOrderedByDevice = allocator instanceof StreamAwareAllocator aware && aware.isOrderedByDevice();
        final long live = allocator.alloc(5000);
        events(subject, allocator).forEach((event, action) -> {
            action.run();
            requireSame("what effectiveOptions returns", options, allocator.effectiveOptions(), event);
            if (allocator instanceof StreamAwareAllocator aware) {
                requireSame("isOrderedByDevice", isOrderedByDevice, aware.isOrderedByDevice(), event);
            }
        });
        allocator.free(live);
    }

    @ConformanceTest
    void required_O05_whatIsNotSetHasItsDefault(Subject subject) {
        final Allocator allocator = subject.allocator();
        final AllocatorOptions effective = allocator.effectiveOptions();
        for (final OptionKey<?> key : subject.factory().optionKeys()) {
            requireDefault(key, effective);
        }
        final List<String> known =
                subject.factory().optionKeys().stream().map(OptionKey::name).toList();
        for (final String name : effective.keys()) {
            Expect.that(known.contains(name), "effectiveOptions has %s, which is none of the keys %s", name, known);
        }
    }

    private static <T> void requireDefault(OptionKey<T> key, AllocatorOptions effective) {
        final String value = effective.value(key.name());
        if (value == null) {
            return;
        }
        final String expected = key.format(key.defaultValue());
        Expect.that(
                OptionRules.isEffective(key, value, expected),
                "%s was not set and has the default %s; effectiveOptions returns %s",
                key.name(),
                expected,
                value);
        Expect.that(
                effective.origin(key.name()).equals(AllocatorOptions.DEFAULT),
                "%s was not set; effectiveOptions returns the origin '%s'",
                key.name(),
                effective.origin(key.name()));
    }

    @ConformanceTest
    void required_O02_keysDifferInCaseAndBlanks(Subject subject) {
        final List<OptionKey<?>> keys = subject.factory().optionKeys();
        final List<String> names = keys.stream().map(OptionKey::name).toList();
        for (final String name : names) {
            for (final String other : List.of(
                    name.toUpperCase(Locale.ROOT),
                    " " + name,
                    name + " ",
                    name.replace('.', '_'),
                    "ep." + name,
                    name.substring(0, name.length() - 1))) {
                if (!names.contains(other)) {
                    Expect.rejection(
                            InvalidOptionException.class,
                            "createAllocator with '" + other + "', which is not the key " + name + ",",
                            () -> subject.allocator(Map.of(other, "1")));
                }
            }
        }
        if (names.isEmpty()) {
            Expect.rejection(
                    InvalidOptionException.class,
                    "createAllocator with arena.max_mem, which is no key of this provider,",
                    () -> subject.allocator(Map.of(Subject.LIMIT, "0")));
        }
    }
}
