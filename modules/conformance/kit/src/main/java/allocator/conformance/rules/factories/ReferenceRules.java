package allocator.conformance.rules.factories;

import allocator.conformance.DeviceProbe;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.ConformanceTest.Scope;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SpiLevel;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Chapter F: creating and releasing references, and closing a factory. */
public abstract class ReferenceRules extends Chapter {
    private static final Map<String, String> NO_SUCH_KEY = Map.of("no.such.key", "1");

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
            throw Expect.failure(
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
                "created again after the last release, the allocator has %d bytes in use and holds %d, at first %d",
                stats.bytesInUse(),
                stats.bytesHeld(),
                before);
    }

    @ConformanceTest
    void required_F07_aForeignAllocatorIsRefused(Subject subject) {
        final Allocator own = subject.allocator();
        final long address = own.alloc(64);
        Expect.rejection(
                UnknownAllocatorException.class,
                "releaseAllocator of an allocator of another provider",
                () -> subject.factory().releaseAllocator(new ForeignAllocator(subject.memory())));
        own.free(address);
    }

    /** A decorator of an allocator may say that it is equal to it. */
    @ConformanceTest
    void required_F07_anAllocatorThatEqualsAnotherIsRefused(Subject subject) {
        final EpFactory factory = subject.factory();
        final Allocator own = subject.allocator();
        final Allocator equal = new EqualAllocator(own);
        Expect.rejection(
                UnknownAllocatorException.class,
                "releaseAllocator of an object that equals an open allocator, and is another",
                () -> factory.releaseAllocator(equal));
        own.free(own.alloc(64));
        subject.release(own);
        Expect.rejection(
                UnknownAllocatorException.class,
                "releaseAllocator of an object that equals a released allocator",
                () -> factory.releaseAllocator(equal));
        factory.close();
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
        Expect.rejection(
                UnknownAllocatorException.class,
                "a release after every reference was released",
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
        Expect.rejection(
                AllocatorException.class,
                "createAllocator with an unknown option",
                () -> factory.createAllocator(subject.memory(), AllocatorOptions.of(NO_SUCH_KEY)));
        try {
            factory.close();
        } catch (IllegalStateException e) {
            throw Expect.failure(
                    "a create was rejected, yet the factory counts a reference: close threw " + Expect.describe(e), e);
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
        Expect.rejection(
                IllegalStateException.class,
                "close of the factory with a reference open",
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
        Expect.rejection(
                IllegalStateException.class,
                "close of the factory with a stream open",
                () -> subject.factory().close());
        stream.flush();
    }

    @ConformanceTest(Scope.FACTORY)
    void required_F09_aSecondCloseDoesNothing(Subject subject) {
        subject.factory().close();
        subject.factory().close();
    }

    /** An allocator of no provider. */
    private static class ForeignAllocator implements Allocator {
        private final MemoryInfo info;

        ForeignAllocator(MemoryInfo info) {
            this.info = info;
        }

        @Override
        public MemoryInfo info() {
            return info;
        }

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

    /** An allocator of no provider that equals one. */
    private static final class EqualAllocator extends ForeignAllocator {
        private final Allocator other;

        EqualAllocator(Allocator other) {
            super(other.info());
            this.other = other;
        }

        @Override
        public boolean equals(@Nullable Object object) {
            return object == this || Expect.same(object, other);
        }

        @Override
        public int hashCode() {
            return other.hashCode();
        }
    }
}
