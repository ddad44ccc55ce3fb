package allocator.simulation.world;

import allocator.simulation.schedule.Scheduler;
import allocator.spi.SyncStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;
import java.util.function.LongConsumer;
import java.util.function.Predicate;

/**
 * The live blocks of several allocators of one device. No two overlap.
 *
 * @param <O> the type of what a block is freed through
 */
final class OwnedBlocks<O> {
    /** A live block and what it is freed through. */
    record Owned<O>(Model.Block block, O owner) {}

    private final Model model;
    private final Map<Long, O> owners = new HashMap<>();

    OwnedBlocks(Model model) {
        this.model = model;
    }

    /** Enters a block that was allocated on a stream, {@code null} for none. */
    void allocated(long address, long byteSize, SyncStream stream, O owner) {
        model.allocated(address, byteSize, stream);
        owners.put(address, owner);
    }

    /** Returns the blocks that match, in the order of their addresses. */
    List<Owned<O>> matching(BiPredicate<Model.Block, O> which) {
        return model.all().stream()
                .map(block -> new Owned<>(block, owners.get(block.address())))
                .filter(owned -> which.test(owned.block, owned.owner))
                .toList();
    }

    /** Returns one of the blocks that match, chosen by a number; {@code null} if none does. */
    Owned<O> choose(int choice, BiPredicate<Model.Block, O> which) {
        final List<Owned<O>> all = matching(which);
        return all.isEmpty() ? null : all.get(choice % all.size());
    }

    long bytes(O owner) {
        return matching((block, other) -> other.equals(owner)).stream()
                .mapToLong(owned -> owned.block.byteSize())
                .sum();
    }

    int count(O owner) {
        return matching((block, other) -> other.equals(owner)).size();
    }

    /** Forgets a block that is about to go back to its device in another way than by a free. */
    void forget(Owned<O> owned) {
        model.remove(owned.block);
        owners.remove(owned.block.address());
    }

    /**
     * Frees a block as {@link #free(Owned, LongConsumer, Predicate)} does, where nothing but simulated failures is to
     * be expected.
     */
    boolean free(Owned<O> owned, LongConsumer call) {
        return free(owned, call, failure -> false);
    }

    /**
     * Frees a block. A free that throws has done nothing, and throws nothing because of the device.
     *
     * @param isExpected which failures are right beside simulated ones
     * @return whether the block is free
     */
    boolean free(Owned<O> owned, LongConsumer call, Predicate<Throwable> isExpected) {
        model.removeFreed(owned.block);
        owners.remove(owned.block.address());
        try {
            Scheduler.call(() -> call.accept(owned.block.address()));
        } catch (Throwable e) {
            model.restore(owned.block);
            owners.put(owned.block.address(), owned.owner);
            if (!isExpected.test(e)) {
                Model.requireSimulated(e, false);
            }
            return false;
        }
        return true;
    }
}
