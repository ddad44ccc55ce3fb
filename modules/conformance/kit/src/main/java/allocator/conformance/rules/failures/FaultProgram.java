package allocator.conformance.rules.failures;

import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.InvalidFreeException;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A program of which any call may throw anything. What throws has had its whole effect or none: an allocation none, as
 * its caller has no address; a free its whole effect, unless an error of the Java virtual machine passes through it.
 */
final class FaultProgram {
    private static final long[] SIZES = {1000, 3_000_000, 70_000, 9_000_000};

    /** The bytes in use where the statistics need a device call, and that fails as well. */
    private static final long UNKNOWN = -1;

    private final Subject subject;
    private final Allocator allocator;
    private final boolean counts;
    private final @Nullable SyncStream stream;
    private final Class<? extends Throwable> thrown;

    private final List<Block> live = new ArrayList<>();

    /** Blocks whose free threw an error, while the statistics did not show whether it had its effect. */
    private final List<Block> unknown = new ArrayList<>();

    private record Block(long address, long byteSize) {}

    /** A call that returns an address, 0 if it has none to return. */
    private interface Call {
        long make();
    }

    /** A call may throw only {@code thrown}, with a message. Without a stream, {@code null}, none are made on it. */
    FaultProgram(Subject subject, Allocator allocator, @Nullable SyncStream stream, Class<? extends Throwable> thrown) {
        this.subject = subject;
        this.allocator = allocator;
        this.stream = stream;
        this.thrown = thrown;
        counts = subject.counts(allocator);
    }

    /** Makes every kind of call that may reach the device. */
    void playAll() {
        for (final long byteSize : SIZES) {
            allocate(byteSize);
            reserve(byteSize);
            allocateOnStream(byteSize);
            allocateOnStream(byteSize);
            free();
            endRun();
        }
        free();
        shrink();
        reserve(SIZES[3]);
        free();
        shrink();
    }

    private void allocate(long byteSize) {
        take(byteSize, () -> allocator.alloc(byteSize));
    }

    private void reserve(long byteSize) {
        if (allocator.spiLevel() >= SpiLevel.RESERVE) {
            take(byteSize, () -> allocator.reserve(byteSize));
        }
    }

    private void allocateOnStream(long byteSize) {
        if (stream != null
                && allocator.as(StreamAwareAllocator.class).orElse(null) instanceof StreamAwareAllocator streamAware) {
            take(byteSize, () -> streamAware.allocOnStream(byteSize, stream));
        }
    }

    private void endRun() {
        if (stream != null) {
            call(() -> {
                stream.onSessionRunEnd();
                return 0;
            });
        }
    }

    private void shrink() {
        Subject.ifShrinkable(allocator)
                .ifPresent(shrinkable -> call(() -> {
                    shrinkable.shrink();
                    return 0;
                }));
    }

    /** Makes a call; returns what it threw. */
    private @Nullable Throwable call(Call call) {
        return take(0, call);
    }

    private @Nullable Throwable take(long byteSize, Call call) {
        final long before = requested();
        final long address;
        try {
            address = call.make();
        } catch (Throwable failure) {
            requireAllowed(failure);
            requireRequested(before, 0, failure);
            return failure;
        }
        if (byteSize != 0) {
            live.add(new Block(address, byteSize));
        }
        requireRequested(before, byteSize, null);
        return null;
    }

    private void free() {
        if (live.isEmpty()) {
            return;
        }
        final Block block = live.getLast();
        final long before = requested();
        Throwable failure = null;
        try {
            allocator.free(block.address());
        } catch (Throwable e) {
            requireAllowed(e);
            failure = e;
        }
        final long after = requested();
        final boolean isError = failure instanceof Error;
        final boolean isUnknown = isError && (before == UNKNOWN || after == UNKNOWN);
        final boolean isLive = isError && after == before && !isUnknown;
        if (!isLive) {
            live.removeLast();
        }
        if (isUnknown) {
            unknown.add(block);
        } else {
            requireRequested(before, isLive ? 0 : -block.byteSize(), failure);
        }
    }

    private void requireAllowed(Throwable failure) {
        Expect.that(
                thrown == Throwable.class || (thrown.isInstance(failure) && failure.getMessage() != null),
                "a device call failed, and a call threw %s instead of %s with a message",
                Expect.describe(failure),
                thrown.getSimpleName());
    }

    private long requested() {
        try {
            return counts ? allocator.stats().requestedBytesInUse() : UNKNOWN;
        } catch (Throwable e) {
            return UNKNOWN;
        }
    }

    private void requireRequested(long before, long change, @Nullable Throwable failure) {
        final long requested = requested();
        Expect.that(
                before == UNKNOWN || requested == UNKNOWN || requested == before + change,
                "%s, and %d bytes are live; requestedBytesInUse is %d",
                failure == null ? "a call returned" : "a call threw " + Expect.describe(failure),
                before + change,
                requested);
    }

    /** Requires that nothing was lost, and that the allocator works; frees everything. */
    void requireNothingLost(String after) {
        for (final Block block : unknown) {
            try {
                allocator.free(block.address());
            } catch (InvalidFreeException dead) {
                Expect.that(dead.getMessage() != null, "a free was rejected without a message");
            }
        }
        final Map<Long, Long> sizes = new LinkedHashMap<>();
        live.forEach(block -> sizes.put(block.address(), block.byteSize()));
        AfterFailure.requireUsable(subject, allocator, sizes, counts, SIZES[1], after);
        live.clear();
        if (stream != null) {
            stream.close();
        }
        subject.release(allocator);
        Expect.that(
                subject.heldByDevice(0) == 0,
                "%s%d bytes are still taken from the device after the last release",
                after,
                subject.heldByDevice(0));
    }
}
