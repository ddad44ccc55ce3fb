package allocator.simulation.world;

import allocator.provider.support.UnreturnedMemory;
import allocator.simulation.schedule.Points;
import allocator.simulation.schedule.Scheduler;
import allocator.spi.Allocator;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.ForeignAddressException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A device that hands out the lowest free addresses, so that they come again soon, and whose calls fail at random with
 * anything. Other threads go on during each call. A free takes effect; where a call fails in it, the memory is
 * unreturned.
 */
final class SimulatedDevice implements Allocator, UnreturnedMemory {
    static final MemoryInfo INFO = new MemoryInfo(
            "Simulated", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    /** Marks a failure as simulated. */
    static final String MESSAGE = "simulated device failure";

    private static final long FIRST = 1 << 20;

    private final SplittableRandom random;
    private final Model model;
    private final long capacity;
    private final long limit;

    /** The streams whose flushes order memory that comes back; null if other means do. */
    private Collection<SimulatedStream> flushedStreams;

    /** One of so many calls fails; 0 if none does. */
    private int faultEvery;

    private final TreeMap<Long, Long> out = new TreeMap<>();

    /** The part of it whose blocks are dead. */
    private final Set<Long> unreturned = new TreeSet<>();

    private long bytesOut;

    /**
     * Creates a device.
     *
     * @param limit the most that its user may take
     */
    SimulatedDevice(SplittableRandom random, Model model, long capacity, long limit, int faultEvery) {
        this.random = random;
        this.model = model;
        this.capacity = capacity;
        this.limit = limit;
        this.faultEvery = faultEvery;
    }

    /** Requires that the work of streams in memory that comes back has been waited for by flushes of these. */
    SimulatedDevice orderedByFlushes(Collection<SimulatedStream> streams) {
        flushedStreams = streams;
        return this;
    }

    /** Fails sometimes, as a call that takes nothing and gives nothing back. */
    void call() {
        Points.access();
        Scheduler.outside(() -> {
            failSometimes(0);
            return 0;
        });
    }

    /** Fails sometimes, without a {@link DeviceException}: what is to be given back has not been taken. */
    void callToGiveBack() {
        try {
            call();
        } catch (DeviceException e) {
            throw new IllegalStateException(MESSAGE, e);
        }
    }

    /** Makes one of so many calls fail. */
    void failEvery(int calls) {
        faultEvery = calls;
    }

    /** Lets no further call fail, and takes back what calls have refused. */
    void repair() {
        faultEvery = 0;
        List.copyOf(unreturned).forEach(this::offer);
    }

    /** Returns whether calls fail at random. */
    boolean hasFaults() {
        return faultEvery > 0;
    }

    long bytesOut() {
        return bytesOut;
    }

    /** Returns the bytes that are out, apart from those that calls have refused. */
    long bytesWithUsers() {
        return bytesOut - unreturned.stream().mapToLong(out::get).sum();
    }

    boolean mayFail() {
        return faultEvery > 0 || capacity < Long.MAX_VALUE || limit < Long.MAX_VALUE;
    }

    @Override
    public long alloc(long byteSize) {
        Points.access();
        return Scheduler.outside(() -> take(byteSize));
    }

    private long take(long byteSize) {
        failSometimes(byteSize);
        if (byteSize > capacity - bytesOut) {
            throw new OutOfMemoryException(MESSAGE, Shortage.ofDevice(INFO, byteSize, capacity - bytesOut));
        }
        long address = FIRST;
        for (final Map.Entry<Long, Long> taken : out.entrySet()) {
            if (address + byteSize <= taken.getKey()) {
                break;
            }
            address = (taken.getKey() + taken.getValue() + 255) & -256;
        }
        out.put(address, byteSize);
        bytesOut += byteSize;
        Model.require(bytesOut <= limit, bytesOut + " bytes are out, beyond the limit of " + limit);
        return address;
    }

    @Override
    public void free(long address) {
        Points.access();
        Scheduler.outside(() -> {
            giveBack(address);
            return 0;
        });
    }

    /** Takes memory back as a device does, beneath an allocator; a call that fails throws and takes nothing. */
    void takeBackOrFail(long address) {
        Points.access();
        Scheduler.outside(() -> {
            Model.require(out.containsKey(address), "the heap gets back what it has not handed out");
            model.requireNoneLive(address, out.get(address));
            failSometimes(0);
            takeBack(address);
            return 0;
        });
    }

    private void giveBack(long address) {
        if (!out.containsKey(address) || unreturned.contains(address)) {
            throw new ForeignAddressException(address, "the simulated device has not handed it out");
        }
        if (flushedStreams != null) {
            model.requireNoneInUse(address, out.get(address), flushedStreams);
        }
        model.requireNoneLive(address, out.get(address));
        offer(address);
    }

    /** Takes memory back, unless the call fails. */
    private void offer(long address) {
        try {
            failSometimes(0);
        } catch (Throwable e) {
            unreturned.add(address);
            return;
        }
        takeBack(address);
    }

    private void takeBack(long address) {
        final long byteSize = out.get(address);
        model.requireNoneLive(address, byteSize);
        out.remove(address);
        unreturned.remove(address);
        bytesOut -= byteSize;
        model.forgetFreed(address, byteSize);
    }

    @Override
    public long unreturnedBytes() {
        return Scheduler.outside(() -> unreturned.stream().mapToLong(out::get).sum());
    }

    @Override
    public long returnAgain() {
        Points.access();
        return Scheduler.outside(() -> {
            final long before = bytesOut;
            List.copyOf(unreturned).forEach(this::offer);
            return before - bytesOut;
        });
    }

    private void failSometimes(long byteSize) {
        if (faultEvery > 0 && random.nextInt(faultEvery) == 0) {
            switch (random.nextInt(6)) {
                case 0 -> throw new OutOfMemoryException(MESSAGE, Shortage.ofDevice(INFO, Math.max(byteSize, 1), 0));
                case 1 -> throw new DeviceException(MESSAGE, null);
                case 2 -> throw new IllegalStateException(MESSAGE);
                case 3 -> throw new LinkageError(MESSAGE);
                case 4 -> throw new OutOfMemoryError(MESSAGE);
                default -> throw new StackOverflowError(MESSAGE);
            }
        }
    }

    @Override
    public MemoryInfo info() {
        return INFO;
    }

    @Override
    public int spiLevel() {
        return SpiLevel.MINIMUM;
    }

    @Override
    public String toString() {
        return "device of " + capacity + " bytes, limit " + limit + ", a fault in " + faultEvery + " calls";
    }
}
