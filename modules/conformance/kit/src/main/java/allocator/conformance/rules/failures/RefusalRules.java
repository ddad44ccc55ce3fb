package allocator.conformance.rules.failures;

import allocator.conformance.DeviceProbe;
import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** Memory that the device does not take back: a free takes effect, and the memory is offered again. */
public abstract class RefusalRules extends Chapter {
    private static final long BLOCK = 3 << 20;
    private static final int MOST_CALLS = 40;

    @ConformanceTest
    void required_A06_aFreeTakesEffectWhateverTheDeviceSays(Subject subject) {
        Refusals.require(subject);
        for (final Thrown thrown : Thrown.values()) {
            for (final boolean isLasting : new boolean[] {false, true}) {
                int k = 1;
                while (thrown.isOfTheDevice() && k <= MOST_CALLS && freeAll(subject, thrown, k, isLasting)) {
                    k++;
                }
            }
        }
    }

    /** Frees blocks of each kind while a device call throws; returns whether there was such a call. */
    private static boolean freeAll(Subject subject, Thrown thrown, int k, boolean isLasting) {
        final Allocator allocator = subject.exclusive(Map.of());
        final boolean counts = subject.counts(allocator);
        final @Nullable SyncStream stream = subject.ifStreamAware(allocator).isPresent() ? subject.stream() : null;
        final Map<Long, String> live = new LinkedHashMap<>();
        AllocationCalls.withoutStreams(allocator).forEach((name, call) -> live.put(call.applyAsLong(BLOCK), name));
        if (stream != null) {
            live.put(subject.streamAware(allocator).allocOnStream(BLOCK, stream), "allocOnStream");
        }
        final boolean isReached = Refusals.during(
                subject, thrown, k, isLasting, () -> live.forEach((address, name) -> free(allocator, address, name)));
        live.forEach((address, name) -> Expect.rejection(
                InvalidFreeException.class,
                "a second free of a block of " + name + ", whose first the device had failed with " + thrown + ",",
                () -> allocator.free(address)));
        final long requested = counts ? allocator.stats().requestedBytesInUse() : 0;
        Expect.that(
                requested == 0,
                "all blocks were freed, and the device threw %s; requestedBytesInUse is %d",
                thrown,
                requested);
        if (stream != null) {
            stream.close();
        }
        subject.release(allocator);
        return isReached;
    }

    private static void free(Allocator allocator, long address, String name) {
        try {
            allocator.free(address);
        } catch (Throwable failure) {
            throw Expect.failure(
                    "the free of a live block of " + name + " threw " + Expect.describe(failure)
                            + "; a free takes effect, whatever the device says",
                    failure);
        }
    }

    @ConformanceTest
    void required_A07_refusedMemoryStaysHeldAndUnused(Subject subject) {
        final DeviceProbe probe = Refusals.require(subject);
        final Allocator allocator = subject.exclusive(Map.of());
        final boolean counts = subject.counts(allocator);
        final boolean isArena = subject.isArena(allocator);
        for (final Map.Entry<String, LongUnaryOperator> kind :
                AllocationCalls.withoutStreams(allocator).entrySet()) {
            final long address = kind.getValue().applyAsLong(BLOCK);
            if (!Refusals.during(subject, Thrown.DEVICE, () -> quietly(() -> allocator.free(address)))) {
                continue;
            }
            final long held = counts ? allocator.stats().bytesHeld() : 0;
            Expect.that(
                    !counts || held == subject.heldByDevice(held),
                    "the device did not take a block of %s back: bytesHeld is %d; the device gave %d",
                    kind.getKey(),
                    held,
                    subject.heldByDevice(held));
            if (isArena && kind.getKey().equals("reserve")) {
                requireUnused(probe, allocator, address);
            }
        }
        subject.release(allocator);
        Expect.that(
                subject.heldByDevice(0) == 0,
                "%d bytes, which the device refused once, are still taken after the last release",
                subject.heldByDevice(0));
    }

    /** No region of an arena has a reserve: its memory serves a block again once the device took and gave it. */
    private static void requireUnused(DeviceProbe probe, Allocator allocator, long refused) {
        AllocationCalls.withoutStreams(allocator).forEach((name, call) -> {
            final long calls = probe.calls();
            final long first = call.applyAsLong(BLOCK); // may be free in a region
            final long second = call.applyAsLong(BLOCK);
            final boolean isElsewhere = Math.abs(first - refused) >= BLOCK && Math.abs(second - refused) >= BLOCK;
            Expect.that(
                    isElsewhere || probe.calls() > calls + 1,
                    "the device did not take the reserve at %s back, yet it was handed out again, by %s",
                    Expect.hex(refused),
                    name);
        });
    }

    @ConformanceTest
    void required_A07_refusedMemoryIsOfferedAgainBeforeARequestFails(Subject subject) {
        Refusals.require(subject);
        final Allocator limited = subject.limited(64 << 20);
        AllocationCalls.withoutStreams(limited).forEach((name, call) -> {
            final long byteSize =
                    name.equals("reserve") ? subject.largestReserveOf(limited) : subject.largestOf(limited);
            final AtomicLong block = new AtomicLong(call.applyAsLong(byteSize));
            Refusals.during(subject, Thrown.DEVICE, () -> {
                quietly(() -> limited.free(block.get()));
                block.set(0);
                quietly(() -> block.set(call.applyAsLong(byteSize)));
            });
            if (block.get() == 0) {
                try {
                    block.set(call.applyAsLong(byteSize));
                } catch (AllocatorException failure) {
                    throw Expect.failure(
                            "a block of the whole limit was freed and the device, which works again, had refused it;"
                                    + " the next " + name + " of that size failed: " + Expect.describe(failure),
                            failure);
                }
            }
            limited.free(block.get());
            Subject.ifShrinkable(limited).ifPresent(ShrinkableAllocator::shrink);
        });
    }

    private static void quietly(Runnable call) {
        try {
            call.run();
        } catch (AllocatorException failed) {
            Expect.that(failed.getMessage() != null, "a device call failed, and the exception has no message");
        }
    }

    @ConformanceTest
    void required_K02_aShrinkDoesNotReportWhatTheDeviceRefused(Subject subject) {
        Refusals.require(subject);
        final ShrinkableAllocator allocator = emptied(subject);
        subject.requireArena(allocator);
        final long before = allocator.stats().bytesHeld();
        final AtomicReference<@Nullable ShrinkReport> report = new AtomicReference<>();
        Refusals.during(subject, Thrown.DEVICE, () -> quietly(() -> report.set(allocator.shrink())));
        final long held = allocator.stats().bytesHeld();
        final ShrinkReport reported = report.get();
        Expect.that(
                held == subject.heldByDevice(held) && (reported == null || reported.bytesReleased() == before - held),
                "the device refused memory: a shrink reports %s; bytesHeld was %d and is %d, the device gave %d",
                reported,
                before,
                held,
                subject.heldByDevice(held));
        allocator.shrink();
        final ShrinkableAllocator other = emptied(subject);
        other.shrink();
        Expect.that(
                allocator.stats().bytesHeld() <= other.stats().bytesHeld(),
                "after a second shrink, during which the device works, bytesHeld is %d; without a refusal it is %d",
                allocator.stats().bytesHeld(),
                other.stats().bytesHeld());
    }

    /** Returns an allocator that has freed what it allocated. */
    private static ShrinkableAllocator emptied(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(subject.exclusive(subject.manyRegions()));
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            live.add(allocator.alloc(BLOCK));
        }
        live.forEach(allocator::free);
        return allocator;
    }

    @ConformanceTest
    void required_F04_theLastReleaseNamesWhatTheDeviceKept(Subject subject) {
        Refusals.require(subject);
        final Allocator allocator = subject.exclusive(Map.of());
        final boolean counts = subject.counts(allocator);
        final Blocks blocks = new Blocks();
        blocks.add(allocator.alloc(BLOCK), BLOCK);
        if (allocator.spiLevel() >= SpiLevel.RESERVE) {
            blocks.add(allocator.reserve(BLOCK), BLOCK);
        }
        final long held = counts ? allocator.stats().bytesHeld() : subject.heldByDevice(0);
        final AtomicReference<@Nullable DeviceException> thrown = new AtomicReference<>();
        Refusals.during(subject, Thrown.DEVICE, () -> {
            try {
                subject.release(allocator);
            } catch (DeviceException kept) {
                thrown.set(kept);
            }
        });
        final DeviceException kept = thrown.get();
        Expect.that(
                kept != null && (held == 0 || names(kept, held) || names(kept, subject.heldByDevice(held))),
                "the device kept the %d bytes that the last release returned: it must throw a DeviceException that"
                        + " names them, and threw %s",
                held,
                kept == null ? "nothing" : Expect.describe(kept));
        subject.factory().releaseAllocator(allocator);
        Expect.that(
                subject.heldByDevice(0) == 0,
                "the last release was repeated while the device worked; %d bytes are still taken",
                subject.heldByDevice(0));
    }

    /** Returns whether an exception, or one that it has suppressed, names a number, grouped or not. */
    private static boolean names(Throwable thrown, long bytes) {
        final String text = String.valueOf(thrown.getMessage()).replaceAll("(?<=\\d)[ ,._'](?=\\d{3})", "");
        return text.matches("(?s)(.*\\D)?" + bytes + "(\\D.*)?")
                || List.of(thrown.getSuppressed()).stream().anyMatch(other -> names(other, bytes));
    }
}
