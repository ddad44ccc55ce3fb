package allocator.cuda.arena;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SyncStream;
import java.util.HashMap;
import java.util.Map;

/**
 * An arena of a {@link DeviceArena} with a lock of its own. Takes its regions from the device within the common budget.
 */
final class Lane {
    private static final long NOBODY = 0;

    private final BfcArena arena;

    /**
     * The id of the stream that is being served, as far as anybody knows. Written without order: it tells how often
     * streams meet, and nothing depends on a single answer.
     */
    private long served = NOBODY;

    /**
     * @param upstream the device's memory
     * @param budget what all lanes may take
     * @param config the settings
     * @param watch told of each region before it is used, and when it is used no more
     */
    Lane(Allocator upstream, Budget budget, ArenaConfig config, RegionWatch watch) {
        arena = new BfcArena(new Source(upstream, budget, this, watch), config);
    }

    BfcArena arena() {
        return arena;
    }

    /** Allocates, and lets other streams see it. For the main lane: elsewhere nobody looks. */
    long allocInSight(long byteSize, SyncStream stream) {
        served = stream.id();
        try {
            return arena.allocOnStream(byteSize, stream);
        } finally {
            served = NOBODY;
        }
    }

    /** Whether another stream than this one is being served right now. */
    boolean isBusyWithOther(SyncStream stream) {
        final long other = served;
        return other != NOBODY && other != stream.id();
    }

    /** Is told where the lane's regions are. */
    interface RegionWatch {
        void added(Lane lane, long address, long byteSize);

        void removing(Lane lane, long address);
    }

    /** The device's memory, counted against the budget. */
    private static final class Source implements Allocator {
        private final Allocator upstream;
        private final Budget budget;
        private final Lane lane;
        private final RegionWatch watch;

        /** Guarded by itself. */
        private final Map<Long, Long> sizes = new HashMap<>();

        Source(Allocator upstream, Budget budget, Lane lane, RegionWatch watch) {
            this.upstream = upstream;
            this.budget = budget;
            this.lane = lane;
            this.watch = watch;
        }

        @Override
        public long alloc(long byteSize) {
            final long address = take(byteSize, false);
            watch.added(lane, address, byteSize);
            return address;
        }

        @Override
        public long reserve(long byteSize) {
            return take(byteSize, true);
        }

        private long take(long byteSize, boolean isReserve) {
            if (!budget.tryTake(byteSize)) {
                throw new OutOfMemoryException(
                        "The limit of all streams together is reached",
                        new Shortage(
                                info(),
                                byteSize,
                                byteSize,
                                budget.limit(),
                                OutOfMemoryException.UNKNOWN,
                                OutOfMemoryException.UNKNOWN,
                                OutOfMemoryException.UNKNOWN,
                                OutOfMemoryException.UNKNOWN));
            }
            boolean isTaken = false;
            try {
                final long address = isReserve ? upstream.reserve(byteSize) : upstream.alloc(byteSize);
                isTaken = true;
                budget.confirm();
                synchronized (sizes) {
                    sizes.put(address, byteSize);
                }
                return address;
            } finally {
                if (!isTaken) {
                    budget.giveBack(byteSize);
                }
            }
        }

        /** If the device does not take it back, it stays in the budget, and may be tried again. */
        @Override
        public void free(long address) {
            watch.removing(lane, address);
            final Long byteSize;
            synchronized (sizes) {
                byteSize = sizes.remove(address);
            }
            boolean isReturned = false;
            try {
                upstream.free(address);
                isReturned = true;
            } finally {
                if (byteSize != null) {
                    if (isReturned) {
                        budget.giveBack(byteSize);
                    } else {
                        synchronized (sizes) {
                            sizes.put(address, byteSize);
                        }
                    }
                }
            }
        }

        @Override
        public MemoryInfo info() {
            return upstream.info();
        }

        @Override
        public int spiLevel() {
            return upstream.spiLevel();
        }
    }
}
