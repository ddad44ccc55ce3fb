package allocator.simulation.world;

import allocator.simulation.world.SimulatedPages.Piece;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The model of an arena on pages: what holds for addresses holds for the physical memory as well. It also knows which
 * requests may fail for lack of memory: {@link Request}.
 */
final class PagedModel extends Model {
    private final SimulatedPages pages;
    private final Collection<SimulatedStream> streams;
    private final long limit;
    private final Model physical = new Model();

    /** What backs each block that is live or whose free has not returned. */
    private final Map<Block, List<Block>> pieces = new HashMap<>();

    private final Set<SyncStream> closing = new HashSet<>();
    private final List<Request> requests = new ArrayList<>();

    /** Whether the arena may have been closed, so that there are no pages below live blocks. */
    private boolean mayBeClosed;

    /**
     * A request that has not returned. It must be served if at each moment since it began there was room, whatever
     * waits for streams: the limit, less the extents that hold a live byte, and less what other requests may use, is at
     * least the request in pages and one.
     */
    static final class Request {
        private final long byteSize;
        private final long needed;

        /** The most that it may take, also while it is going to fail. */
        private final long most;

        private long mostUsedByOthers;

        private Request(long byteSize, long needed, long most) {
            this.byteSize = byteSize;
            this.needed = needed;
            this.most = most;
        }
    }

    /**
     * Creates a model without blocks.
     *
     * @param capacity how many pages there are
     * @param limit the most bytes that extents and reserves may have
     * @param streams all streams, closed ones included
     */
    PagedModel(int capacity, long limit, Collection<SimulatedStream> streams) {
        pages = new SimulatedPages(this, capacity);
        this.streams = streams;
        this.limit = Math.min(limit, pages.capacityBytes());
        acceptFlushesOf(streams);
        physical.acceptFlushesOf(streams);
    }

    /** Returns the pages. */
    SimulatedPages pages() {
        return pages;
    }

    /** Begins a request. */
    Request begin(long byteSize, boolean isReserve) {
        final long bytes = (byteSize + SimulatedPages.PAGE - 1) / SimulatedPages.PAGE * SimulatedPages.PAGE;
        final long needed = isReserve ? byteSize : bytes + SimulatedPages.PAGE;
        // A chunk that is being backed may use a part of an extent at either end.
        final long most = isReserve ? byteSize : needed + 2L * (pages.largest() - 1) * SimulatedPages.PAGE;
        final Request request = new Request(byteSize, needed, most);
        requests.add(request);
        changed();
        return request;
    }

    /** Ends a request, after its block is entered. */
    void end(Request request) {
        requests.remove(request);
        changed();
    }

    /** Requires that there was too little memory for a request at some moment. */
    void requireShortage(Request request, Throwable failure) {
        if (!mayBeClosed && request.needed <= limit - request.mostUsedByOthers) {
            throw new AssertionError(
                    "a request of " + request.byteSize + " bytes fails, although at most " + request.mostUsedByOthers
                            + " of " + limit + " bytes were used",
                    failure);
        }
    }

    /** Notes that a stream is about to close: until it has, nothing waits for its work. */
    void beginClose(SyncStream stream) {
        closing.add(stream);
        changed();
    }

    /** Notes that a stream was closed. */
    void endClose(SyncStream stream) {
        closing.remove(stream);
    }

    private void changed() {
        if (mayBeClosed) {
            return;
        }
        long used = requests.stream().mapToLong(request -> request.most).sum();
        final Set<Long> extents = new HashSet<>();
        for (final Map.Entry<Block, List<Block>> block : pieces.entrySet()) {
            if (block.getValue().isEmpty()) {
                used += block.getKey().byteSize();
            }
            block.getValue().forEach(piece -> extents.add(pages.extentAt(piece.address())));
        }
        physical.freedOn(closing).forEach(address -> extents.add(pages.extentAt(address)));
        used += extents.stream().mapToLong(pages::size).sum() * SimulatedPages.PAGE;
        for (final Request request : requests) {
            request.mostUsedByOthers = Math.max(request.mostUsedByOthers, used - request.most);
        }
    }

    /** Notes that memory is not seen any more at addresses at which it was mapped. */
    void unmapped(long address, long byteSize) {
        requireNoneInUse(address, byteSize, streams);
        requireNoneLive(address, byteSize);
        forgetFreed(address, byteSize);
    }

    /** Notes that memory goes back to the device. */
    void released(long address, long byteSize) {
        physical.requireNoneInUse(address, byteSize, streams);
        physical.requireNoneLive(address, byteSize);
        physical.forgetFreed(address, byteSize);
    }

    @Override
    void allocated(long address, long byteSize, SyncStream stream) {
        final List<Block> backing = new ArrayList<>();
        if (pages.isInRange(address)) {
            pages.forEachPiece(address, byteSize, piece -> backing.add(block(piece, stream)));
        }
        backing.forEach(piece -> physical.allocated(piece.address(), piece.byteSize(), piece.stream()));
        pieces.put(new Block(address, byteSize, stream), backing);
        super.allocated(address, byteSize, stream);
    }

    private static Block block(Piece piece, SyncStream stream) {
        return new Block(piece.physical(), piece.byteSize(), stream);
    }

    @Override
    void removeFreed(Block block) {
        super.removeFreed(block);
        pieces.get(block).forEach(physical::removeFreed);
    }

    @Override
    void endFree(Block block) {
        super.endFree(block);
        final List<Block> backing = isLive(block) ? List.of() : pieces.remove(block);
        backing.forEach(physical::endFree);
        changed();
    }

    @Override
    void restore(Block block) {
        super.restore(block);
        pieces.get(block).forEach(physical::endFree);
        pieces.get(block).forEach(physical::restore);
    }

    @Override
    void forget(Block block) {
        super.forget(block);
        pieces.get(block).forEach(physical::forget);
    }

    @Override
    List<Block> removeAll() {
        pieces.clear();
        physical.removeAll();
        return super.removeAll();
    }

    @Override
    void beginEnd(SyncStream stream) {
        super.beginEnd(stream);
        physical.beginEnd(stream);
    }

    @Override
    void endEnd(SyncStream stream) {
        super.endEnd(stream);
        physical.endEnd(stream);
    }

    @Override
    void closed(SyncStream stream) {
        super.closed(stream);
        physical.closed(stream);
    }

    @Override
    void expectReturns(boolean isExpected) {
        super.expectReturns(isExpected);
        mayBeClosed |= isExpected;
        physical.expectReturns(isExpected);
    }

    @Override
    void requireNoViolation() {
        super.requireNoViolation();
        physical.requireNoViolation();
    }
}
