package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats.Counter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Why a request failed, in the words of the user: what limited it, what is live, what waits, what is in pieces, and
 * what to do.
 *
 * @param cause what was in the way
 * @param headline the cause in one sentence
 * @param facts the figures, most important first
 * @param advice what may help, most likely first
 */
public record Diagnosis(Cause cause, String headline, List<Fact> facts, List<String> advice) {
    /** Below this much padding a block, it comes from rounding, and not from chunks that were not split. */
    private static final long SMALL_PADDING = 512;

    /** Copies the lists. */
    public Diagnosis {
        facts = List.copyOf(facts);
        advice = List.copyOf(advice);
    }

    /** What was in the way of a request. */
    public enum Cause {
        /** The request alone exceeds the limit. */
        TOO_LARGE,
        /** Live blocks and the request exceed the limit. */
        LIVE,
        /** Freed memory would do, but a stream may still use it. */
        WAITING,
        /** Free memory would do, but it is in pieces. */
        FRAGMENTED,
        /** The device has no more memory. */
        DEVICE,
        /** The snapshot does not show it. */
        UNKNOWN
    }

    /**
     * A figure.
     *
     * @param name what it is
     * @param bytes its value; negative if it is not known or there is none
     * @param note a remark, or empty
     */
    public record Fact(String name, long bytes, String note) {}

    /**
     * {@return the diagnosis of a snapshot's failure; empty if the snapshot was not taken for a failure}
     *
     * @param snapshot the snapshot
     */
    public static Optional<Diagnosis> of(Snapshot snapshot) {
        final Failure failure = snapshot.failure();
        return failure == null ? Optional.empty() : Optional.of(of(failure, failed(snapshot, failure)));
    }

    /**
     * Finds the allocator that a snapshot's failure is about.
     *
     * @param snapshot the snapshot
     * @return the allocator; empty if there was no failure, or none of the allocators has that memory
     */
    public static Optional<AllocatorState> failedAllocator(Snapshot snapshot) {
        final Failure failure = snapshot.failure();
        return failure == null ? Optional.empty() : failed(snapshot, failure);
    }

    private static Optional<AllocatorState> failed(Snapshot snapshot, Failure failure) {
        final List<AllocatorState> same = snapshot.allocators().stream()
                .filter(allocator -> allocator.memory().equals(failure.memory()))
                .toList();
        return same.stream()
                .filter(allocator ->
                        allocator.users().stream().anyMatch(user -> user.owner().equals(failure.owner())))
                .findFirst()
                .or(() -> same.stream().findFirst());
    }

    private static Diagnosis of(Failure failure, Optional<AllocatorState> allocator) {
        final Breakdown sums =
                Breakdown.of(allocator.map(AllocatorState::memoryMap).orElse(AllocatorSnapshot.EMPTY));
        final boolean isListed =
                allocator.filter(one -> one.missing().isEmpty()).isPresent();
        final Cause cause = cause(failure, sums, isListed);
        final List<Fact> facts = new ArrayList<>();
        facts.add(new Fact(
                "requested",
                failure.requested(),
                failure.rounded() > failure.requested() ? "rounded to " + ByteText.exact(failure.rounded()) : ""));
        final boolean isBudget = !failure.limitedBy().isEmpty();
        facts.add(new Fact(
                "limit",
                Math.max(-1, failure.limit()),
                failure.limit() < 0 ? "none" : isBudget ? failure.limitedBy() : "arena.max_mem"));
        if (isBudget) {
            facts.add(new Fact("charged", failure.inUse(), "of " + failure.limitedBy()));
        } else {
            addAllocator(facts, failure, sums, allocator);
        }
        return new Diagnosis(cause, headline(cause, failure, sums), facts, advice(cause, failure, allocator, sums));
    }

    private static void addAllocator(
            List<Fact> facts, Failure failure, Breakdown sums, Optional<AllocatorState> allocator) {
        final boolean isListed =
                allocator.filter(one -> one.missing().isEmpty()).isPresent();
        facts.add(new Fact("held", failure.held(), "taken from the device"));
        facts.add(new Fact(
                "live",
                failure.inUse(),
                isListed
                        ? sums.liveBlocks() + (sums.liveBlocks() == 1 ? " block" : " blocks") + ", padding included"
                        : ""));
        final long saved = allocator
                .flatMap(one -> one.stats().counter("sharedBytes"))
                .map(Counter::value)
                .orElse(0L);
        if (saved > 0) {
            facts.add(new Fact("shared", saved, "what these blocks save by one copy; not in live and held"));
        }
        if (isListed) {
            facts.add(new Fact("padding", sums.bytes(State.LIVE) - sums.requestedBytes(), "of live blocks"));
            facts.add(new Fact("waiting for a stream", sums.bytes(State.WAITING), "freed, and possibly still used"));
            facts.add(new Fact("cached", sums.bytes(State.CACHED), "freed, and stored for requests of the same size"));
            facts.add(
                    new Fact("free", sums.bytes(State.FREE), "largest piece " + ByteText.of(sums.largest(State.FREE))));
            facts.add(new Fact("largest span without a live block", sums.largestNotLive(), ""));
            if (sums.bytes(State.PINNED) > 0) {
                facts.add(new Fact("pinned", sums.bytes(State.PINNED), "freed, in regions with live blocks"));
            }
            if (sums.bytes(State.UNRETURNED) > 0) {
                facts.add(
                        new Fact("not taken back", sums.bytes(State.UNRETURNED), "the device failed to take it back"));
            }
        }
        facts.add(new Fact("largest free chunk for this request", failure.largestFree(), ""));
        if (failure.deviceFree() >= 0) {
            facts.add(new Fact("free on the device", failure.deviceFree(), ""));
        }
    }

    private static Cause cause(Failure failure, Breakdown sums, boolean isListed) {
        final long needed = Math.max(failure.rounded(), failure.requested());
        final boolean hasLimit = failure.limit() >= 0;
        if (hasLimit && needed > failure.limit()) {
            return Cause.TOO_LARGE;
        }
        if (hasLimit && failure.inUse() >= 0 && needed > failure.limit() - failure.inUse()) {
            return Cause.LIVE;
        }
        if (isListed && sums.reusableBytes() >= needed) {
            final boolean isWaiting = sums.bytes(State.WAITING) > 0
                    && sums.largestNotLive() >= needed
                    && Math.max(sums.largest(State.FREE), failure.largestFree()) < needed;
            return isWaiting ? Cause.WAITING : Cause.FRAGMENTED;
        }
        return hasLimit && failure.held() >= 0 && needed > failure.limit() - failure.held()
                ? Cause.FRAGMENTED
                : failure.held() >= 0 || failure.deviceFree() >= 0 ? Cause.DEVICE : Cause.UNKNOWN;
    }

    private static String headline(Cause cause, Failure failure, Breakdown sums) {
        final String request = failure.owner() + " asked for " + ByteText.of(failure.requested()) + " of "
                + failure.memory().name() + " (" + failure.memory().location() + ")";
        final boolean isBudget = !failure.limitedBy().isEmpty();
        final String limit = (isBudget ? failure.limitedBy() + ", " : "the limit of ") + ByteText.of(failure.limit());
        return request + ": "
                + switch (cause) {
                    case TOO_LARGE -> "more than " + limit;
                    case LIVE ->
                        (isBudget ? "charges take " : "live blocks take ") + ByteText.of(failure.inUse()) + " of "
                                + limit;
                    case WAITING ->
                        ByteText.of(sums.bytes(State.WAITING)) + " are freed, but streams may still use them";
                    case FRAGMENTED ->
                        sums.reusableBytes() == 0
                                ? "the memory held leaves no room below the limit of " + ByteText.of(failure.limit())
                                : ByteText.of(sums.reusableBytes()) + " are free, in pieces of at most "
                                        + ByteText.of(sums.largestNotLive());
                    case DEVICE ->
                        failure.deviceFree() >= 0
                                ? "the device has " + ByteText.of(failure.deviceFree()) + " left"
                                : "the device has no more memory";
                    case UNKNOWN -> "the allocator does not say why";
                };
    }

    private static List<String> advice(
            Cause cause, Failure failure, Optional<AllocatorState> allocator, Breakdown sums) {
        final boolean isBudget = !failure.limitedBy().isEmpty();
        final String limit = isBudget ? failure.limitedBy() : "arena.max_mem";
        final List<String> advice = new ArrayList<>();
        final boolean isCompact = allocator
                .filter(one -> "compact".equals(one.options().get("arena.policy")))
                .isPresent();
        switch (cause) {
            case TOO_LARGE -> advice.add("Raise " + limit + " above the request, or split the request.");
            case LIVE -> {
                advice.add("Free blocks sooner: the tables below show who has most.");
                advice.add("Raise " + limit + " if the device has room.");
            }
            case WAITING -> {
                advice.add("Let the requesting stream wait for an event of the stream that freed the memory.");
                advice.add("End the run, or synchronize the stream, before the request.");
            }
            case FRAGMENTED -> {
                if (!isCompact && sums.bytesInLargeSpans() >= Math.max(failure.rounded(), failure.requested())) {
                    advice.add("arena.policy=compact may help with pieces of this size: it maps those of their pages "
                            + "together that share no extent with a live block.");
                }
                advice.add("Shrink between phases, or allocate what lives long first.");
            }
            case DEVICE -> {
                advice.add("Another process or allocator has the rest of the device: compare with its own tools.");
                advice.add("Set arena.max_mem on allocators that may grow without need, and shrink them.");
            }
            case UNKNOWN -> advice.add("Use a provider whose allocators list their chunks.");
        }
        final long padding = sums.bytes(State.LIVE) - sums.requestedBytes();
        if (!isBudget && cause != Cause.TOO_LARGE && padding > 0 && padding >= sums.bytes(State.LIVE) / 10) {
            advice.add(ByteText.of(padding) + " of the live bytes are padding: "
                    + (padding / sums.liveBlocks() < SMALL_PADDING
                            ? "small blocks are rounded up, so allocate several in one."
                            : "with a smaller arena.max_dead_bytes_per_chunk blocks are closer to their requests."));
        }
        return advice;
    }
}
