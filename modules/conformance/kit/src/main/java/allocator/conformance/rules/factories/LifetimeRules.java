package allocator.conformance.rules.factories;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Chapter L: levels of the contract, and use after close. */
public abstract class LifetimeRules extends Chapter {
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
                allocator.as(StreamAwareAllocator.class).isEmpty() || allocator.spiLevel() >= SpiLevel.STREAMS,
                "a StreamAwareAllocator of level %d: the runtime will never use its streams",
                allocator.spiLevel());
        Expect.that(
                allocator.as(ShrinkableAllocator.class).isEmpty() || allocator.spiLevel() >= SpiLevel.SHRINK,
                "a ShrinkableAllocator of level %d: the runtime will never shrink it",
                allocator.spiLevel());
    }

    @ConformanceTest
    void required_L02_aClosedAllocatorRefusesEveryUse(Subject subject) {
        final Allocator allocator = subject.allocator();
        final SyncStream stream = subject.ifStreamAware(allocator).isPresent() ? subject.stream() : null;
        final boolean reserves = allocator.spiLevel() >= SpiLevel.RESERVE;
        final Optional<ShrinkableAllocator> shrinkable = Subject.ifShrinkable(allocator);
        final boolean counts = subject.counts(allocator);
        final long address = allocator.alloc(64);
        allocator.free(address);
        final int level = allocator.spiLevel();
        final AllocatorOptions effective = allocator.effectiveOptions();
        subject.release(allocator);
        final String after = " after the last release";
        Expect.that(
                allocator.info().equals(subject.memory())
                        && allocator.spiLevel() == level
                        && allocator.effectiveOptions().equals(effective),
                "info, spiLevel or effectiveOptions changed%s: they are no uses of the memory",
                after);
        requireDescribed(allocator, after);
        Expect.rejection(AllocatorClosedException.class, "free" + after, () -> allocator.free(address));
        if (counts) {
            Expect.rejection(AllocatorClosedException.class, "stats" + after, allocator::stats);
        }
        if (shrinkable.isPresent()) {
            Expect.rejection(
                    AllocatorClosedException.class,
                    "shrink" + after,
                    () -> shrinkable.get().shrink());
        }
        requireClosed(allocator, address, 64, reserves, stream);
        requireClosed(allocator, 0, 0, reserves, stream);
    }

    /** An empty allocation is a use too. */
    private static void requireClosed(
            Allocator allocator, long address, long byteSize, boolean reserves, @Nullable SyncStream stream) {
        final String after = "(" + byteSize + ") after the last release";
        Expect.rejection(AllocatorClosedException.class, "alloc" + after, () -> allocator.alloc(byteSize));
        if (reserves) {
            Expect.rejection(AllocatorClosedException.class, "reserve" + after, () -> allocator.reserve(byteSize));
        }
        allocator
                .as(HostAccessibleAllocator.class)
                .ifPresent(accessible -> Expect.rejection(
                        AllocatorClosedException.class,
                        "segment" + after,
                        () -> accessible.segment(address, byteSize)));
        if (stream != null) {
            allocator
                    .as(StreamAwareAllocator.class)
                    .ifPresent(streamAware -> Expect.rejection(
                            AllocatorClosedException.class,
                            "allocOnStream" + after,
                            () -> streamAware.allocOnStream(byteSize, stream)));
        }
    }

    /** What a log or a debugger calls throws at no time. */
    private static void requireDescribed(Allocator allocator, String after) {
        try {
            final Object text = allocator + " with the hash code " + allocator.hashCode();
            Expect.that(!allocator.equals(text), "an allocator is equal to a text%s: %s", after, text);
        } catch (RuntimeException e) {
            throw Expect.failure(
                    "toString, equals or hashCode" + after + " threw " + Expect.describe(e) + "; they throw at no time",
                    e);
        }
    }

    @ConformanceTest
    void required_L02_aClosedFactoryCreatesNothing(Subject subject) {
        final EpFactory factory = subject.factory();
        final boolean hasStreams = factory.isStreamAware(subject.memory());
        factory.close();
        Expect.rejection(
                AllocatorClosedException.class, "createAllocator of a closed factory", () -> subject.allocator());
        if (hasStreams) {
            Expect.rejection(
                    AllocatorClosedException.class, "createSyncStream of a closed factory", () -> subject.stream());
        }
    }

    @ConformanceTest
    void required_L03_theFactoryDoesNotEndBeneathLiveMemory(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long address = allocator.alloc(4096);
        try {
            subject.factory().close();
        } catch (IllegalStateException rejected) {
            Expect.that(rejected.getMessage() != null, "close was rejected without a message about what is still open");
        }
        Contents.of(subject, allocator).ifPresent(contents -> {
            contents.fill(address, 4096, 3);
            contents.verify(address, 4096, 3, "after close was rejected,");
        });
        allocator.free(address);
    }

    @ConformanceTest
    void required_L02_eachInstanceIsClosedByItsOwnRelease(Subject subject) {
        final Allocator first = subject.exclusive(Map.of());
        final Allocator second = subject.exclusive(Map.of());
        if (Expect.same(first, second)) {
            throw Expect.skip("the provider shares its only instance");
        }
        final long address = second.alloc(1000);
        first.alloc(1000);
        subject.release(first);
        Expect.rejection(AllocatorClosedException.class, "alloc after the release", () -> first.alloc(1000));
        second.free(address);
        second.free(second.alloc(1000));
        final Allocator third = subject.exclusive(Map.of());
        Expect.rejection(
                AllocatorClosedException.class,
                "alloc of a released allocator, after another was created,",
                () -> first.alloc(1000));
        third.free(third.alloc(1000));
    }

    /** Uses everything once, so that what the process was before and after is compared also where nothing else runs. */
    @ConformanceTest
    void required_L04_eachUseLeavesTheProcessAsItWas(Subject subject) {
        if (!subject.fixture().cleanup().watchesProcess()) {
            throw Expect.skip("it needs the runner, in whose process nothing but the provider is at work");
        }
        final Allocator allocator = subject.allocator();
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            allocator.free(call.applyAsLong(1000));
            Expect.rejection(AllocatorException.class, name + "(-1)", () -> call.applyAsLong(-1));
            Expect.rejection(AllocatorException.class, name + " of 2^50 bytes", () -> call.applyAsLong(1L << 50));
        });
        Expect.rejection(AllocatorException.class, "free of a wrong address", () -> allocator.free(4711));
        if (subject.counts(allocator)) {
            allocator.stats();
        }
        final long address = allocator.alloc(1000);
        Contents.of(subject, allocator).ifPresent(contents -> contents.fill(address, 1000, 5));
        allocator.free(address);
        Subject.ifShrinkable(allocator).ifPresent(ShrinkableAllocator::shrink);
        if (subject.ifStreamAware(allocator).isPresent()) {
            final SyncStream stream = subject.stream();
            try (SyncNotification notification = stream.createNotification()) {
                notification.activate();
                notification.waitOnHost();
                subject.furtherStream(subject.memory()).ifPresent(notification::waitOnDevice);
            }
            stream.flush();
            stream.onSessionRunEnd();
            stream.close();
        }
        final EpFactory factory = subject.factory();
        Expect.rejection(RuntimeException.class, "close with an allocator open", factory::close);
        Expect.rejection(
                RuntimeException.class,
                "createAllocator with an unknown key",
                () -> subject.allocator(Map.of("no.such.key", "1")));
        requireDescribed(allocator, "");
        subject.release(allocator);
        // LeakRules reports what has changed; the runner compares after each test.
    }
}
