package allocator.conformance.program;

import allocator.conformance.subject.Expect;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A model of true lifetimes: the live blocks of a program, and freed memory that queued work may still use.
 *
 * <p>Memory that was allocated on stream {@code p} and freed when {@code p.syncId()} was {@code n} is <em>pending</em>.
 * It may go to {@code p} at any time, and to a stream {@code q} once {@code q.lastWaitedSyncId(p) > n} (T-03). It is no
 * longer pending once the host has waited for {@code p}, or for a stream that had waited for {@code p}: at the end of a
 * run, at a flush, or when {@code p} is closed (T-04, T-05).
 *
 * <p>Invariant: no two blocks overlap, and no block overlaps pending memory that is not ordered before its use.
 */
final class LifetimeModel {
    /** A live block; {@code stream} is null if it was allocated without one. */
    record Block(
            int number,
            long address,
            long byteSize,
            @Nullable SyncStream stream) {
        long end() {
            return address + byteSize;
        }

        @Override
        public String toString() {
            return "b" + number + " (" + byteSize + " bytes at " + Expect.hex(address)
                    + (stream == null ? "" : ", stream " + stream.id()) + ")";
        }
    }

    /** Freed memory that queued work of a stream may still use; {@code stamp} is the stream's sync id at the free. */
    private record Pending(Block block, SyncStream stream, long stamp) {
        boolean overlaps(Block other) {
            return block.address < other.end() && other.address < block.end();
        }

        boolean isOrderedBefore(@Nullable SyncStream user) {
            return Expect.same(user, stream) || (user != null && user.lastWaitedSyncId(stream) > stamp);
        }

        Pending part(long from, long to) {
            return new Pending(new Block(block.number, from, to - from, stream), stream, stamp);
        }
    }

    private final Map<Integer, Block> byNumber = new HashMap<>();
    private final NavigableMap<Long, Block> byAddress = new TreeMap<>();
    private final List<Pending> pending = new ArrayList<>();

    boolean isLive(int number) {
        return byNumber.containsKey(number);
    }

    /** Returns the live blocks, in the order of their addresses. */
    List<Block> live() {
        return List.copyOf(byAddress.values());
    }

    /**
     * Adds a block.
     *
     * @param isOrderKnown whether waits between streams alone determine what the block may overlap
     * @throws RuleViolation if the block overlaps a live one, or pending memory that is not ordered before its use
     */
    void add(Block block, boolean isOrderKnown) {
        final Map.Entry<Long, Block> below = byAddress.lowerEntry(block.end());
        RuleViolation.unless(
                below == null || below.getValue().end() <= block.address,
                "A-03",
                "%s overlaps %s, which is live",
                block,
                below == null ? "" : below.getValue());
        if (isOrderKnown) {
            pending.stream()
                    .filter(memory -> memory.overlaps(block) && !memory.isOrderedBefore(block.stream))
                    .findFirst()
                    .ifPresent(memory -> {
                        throw unordered(block, memory);
                    });
        }
        takeOver(block);
        byAddress.put(block.address, block);
        byNumber.put(block.number, block);
    }

    private static RuleViolation unordered(Block block, Pending memory) {
        final SyncStream user = block.stream;
        return new RuleViolation(
                "T-03",
                String.format(
                        "%s takes memory of %s, which was freed when stream %d had sync id %d; %s, so queued work"
                                + " of stream %d may still use it",
                        block,
                        memory.block,
                        memory.stream.id(),
                        memory.stamp,
                        user == null
                                ? "memory without a stream is for every stream, and that one was not synchronized"
                                : "stream " + user.id() + " has waited for sync id "
                                        + user.lastWaitedSyncId(memory.stream)
                                        + " of it and must have waited for a later one",
                        memory.stream.id()),
                null);
    }

    /** Memory that a block has taken is no longer pending; what the block left of it still is. */
    private void takeOver(Block taker) {
        final List<Pending> rest = new ArrayList<>();
        pending.removeIf(memory -> {
            if (!memory.overlaps(taker)) {
                return false;
            }
            if (memory.block.address < taker.address) {
                rest.add(memory.part(memory.block.address, taker.address));
            }
            if (taker.end() < memory.block.end()) {
                rest.add(memory.part(taker.end(), memory.block.end()));
            }
            return true;
        });
        pending.addAll(rest);
    }

    /** Forgets the number of a block that is about to be freed; returns it, {@code null} if it is not live. */
    @Nullable
    Block take(int number) {
        return byNumber.remove(number);
    }

    /** Removes a freed block, which stays pending if its stream is still open. */
    void remove(Block block, long stamp, boolean isStreamOpen) {
        byAddress.remove(block.address);
        final SyncStream stream = block.stream;
        if (stream != null && isStreamOpen) {
            pending.add(new Pending(block, stream, stamp));
        }
    }

    /** Ends what was pending on a stream for which the host has waited, and on streams for which it had waited. */
    void synchronize(SyncStream stream) {
        pending.removeIf(memory -> memory.isOrderedBefore(stream));
    }

    /** Ends everything pending: the device has memory back, which it returns only when its work is done (K-03). */
    void clearPending() {
        pending.clear();
    }

    void clearNumbers() {
        byNumber.clear();
    }
}
