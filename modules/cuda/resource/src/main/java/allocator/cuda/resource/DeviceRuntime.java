package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.memory.CudaDevice;
import allocator.provider.support.budget.Budget;
import allocator.provider.support.budget.BudgetPressure;
import allocator.provider.support.internal.Failures;
import allocator.resource.MemoryResource;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.resource.budget.BudgetResource;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.ResourceLog;
import allocator.resource.tracked.StreamPool;
import allocator.resource.tracked.TrackedMemory;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.StreamCaptureException;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * All that code without a session needs of one GPU: its context, the budget of the device, memory within the budget and
 * in a log, streams, and blocks that several streams use.
 *
 * <p>There is one runtime for each device of one driver object, the same from anywhere, as long as it is in use: each
 * {@link #of} is matched by one {@link #close}, and the last close ends it. Sessions keep their own streams and arenas;
 * they share the budget and the context.
 *
 * <p><b>The limit.</b> What is charged to the {@linkplain Budget#ofMemory budget of the device} never exceeds its
 * limit: the requests of {@link #resource} and {@link #tracked}, what the pool below caches, and what sessions hold.
 * Where the limit is reached, the others shrink first, sessions included: see {@link BudgetPressure}. Without a limit,
 * what the pool caches is not charged.
 *
 * <p>Safe for use by several threads. One thread opens or closes runtimes at a time.
 */
public final class DeviceRuntime implements AutoCloseable {
    private static final Map<Key, DeviceRuntime> IN_USE = new HashMap<>();

    private final Key key;
    private final Settings settings;
    private final CudaDevice device;
    private final Budget budget;

    /** Charged with all requests; sets aside what the pool holds beyond them. */
    private final Budget account;

    private final @Nullable CudaAsyncResource pool;
    private final BudgetResource resource;
    private final CudaEvents events;
    private final TrackedMemory tracked;
    private final StreamPool streams;

    /** Keeps the part from being forgotten. */
    private final BudgetPressure.Holder holder = () -> List.of(new Held());

    /** Guarded by the table, as is what follows. */
    private int users = 1;

    private record Key(CudaDriver driver, int ordinal) {}

    /**
     * How a runtime is made.
     *
     * @param log receives the allocations and deallocations of the device's memory, {@code null} for none; it stays the
     *     caller's to close
     * @param isAsynchronous whether memory is of a pool of the driver, in stream order ({@link CudaAsyncResource}), or
     *     allocated block by block ({@link CudaDeviceResource})
     * @param mostStreams the most streams of the {@linkplain DeviceRuntime#streams pool}, at least 1
     */
    public record Settings(@Nullable ResourceLog log, boolean isAsynchronous, int mostStreams) {
        /** No log, asynchronous, 32 streams. */
        public static final Settings DEFAULT = new Settings(null, true, 32);

        /** Checks the number of streams. */
        public Settings {
            if (mostStreams < 1) {
                throw new IllegalArgumentException("mostStreams is " + mostStreams + ", it must be at least 1");
            }
        }

        /**
         * {@return these settings with a log}
         *
         * @param newLog receives the calls
         */
        public Settings withLog(ResourceLog newLog) {
            return new Settings(newLog, isAsynchronous, mostStreams);
        }

        /** {@return these settings with memory that is allocated block by block} */
        public Settings synchronous() {
            return new Settings(log, false, mostStreams);
        }

        /**
         * {@return these settings with another bound of the pool of streams}
         *
         * @param most the most streams, at least 1
         */
        public Settings withMostStreams(int most) {
            return new Settings(log, isAsynchronous, most);
        }
    }

    /**
     * The bytes of a device at one moment, of all that charges its budget: sessions, resources and tracked memory of
     * the whole process. {@code live + pending + available == limit}, unless the limit was set below what was charged
     * already, and nothing is available.
     *
     * @param limit the most bytes, {@link Budget#UNLIMITED} if there is no limit
     * @param live bytes of blocks, and what arenas and pools hold beyond their blocks
     * @param pending bytes of tracked blocks that are freed and may still be in use
     * @param available bytes that a request could be granted
     */
    public record Status(long limit, long live, long pending, long available) {}

    /** What a request that exceeds the limit of the device may take from this runtime. */
    private final class Held implements BudgetPressure.Part {
        @Override
        public MemoryInfo memory() {
            return DeviceRuntime.this.memory();
        }

        @Override
        public Object identity() {
            return DeviceRuntime.this;
        }

        @Override
        public long bytesHeld() {
            final Budget.Status now = account.status();
            return Math.max(now.charge(), now.reservation());
        }

        @Override
        public long shrink() {
            final Budget.Status now = account.status();
            if (now.pending() == 0 && now.reservation() <= now.charge()) {
                return 0;
            }
            final long before = bytesHeld();
            final Failures failures = new Failures(); // of some blocks, which keeps the others from nothing
            failures.run(tracked::reap); // records the events of uses that have none
            failures.run(DeviceRuntime.this::awaitDevice);
            failures.run(tracked::reap);
            failures.run(DeviceRuntime.this::awaitDevice); // the memory goes back in the order of its stream
            failures.run(resource::shrink);
            final long released = before - bytesHeld();
            if (released <= 0) {
                failures.throwIfAny();
            }
            return Math.max(0, released);
        }

        @Override
        public String toString() {
            return DeviceRuntime.this.toString();
        }
    }

    private DeviceRuntime(Key key, Settings settings) {
        this.key = key;
        this.settings = settings;
        device = CudaDevice.open(key.driver, key.ordinal);
        boolean isReady = false;
        try {
            budget = Budget.ofMemory(device.defaultMemory());
            account = budget.child(toString(), Budget.UNLIMITED);
            pool = settings.isAsynchronous ? openPool() : null;
            final MemoryResource driverMemory = pool == null ? new CudaDeviceResource(key.driver, key.ordinal) : pool;
            final MemoryResource base =
                    settings.log == null ? driverMemory : new LoggingResource(driverMemory, settings.log);
            resource = new BudgetResource(base, account);
            events = new CudaEvents(key.driver, key.ordinal);
            tracked = new TrackedMemory(base, events, account);
            streams = new StreamPool(settings.mostStreams, device::openStream);
            isReady = true;
        } finally {
            if (!isReady) {
                device.close();
            }
        }
    }

    private CudaAsyncResource openPool() {
        if (!device.info().hasMemoryPools()) {
            throw new DeviceException(
                    "the driver has no memory pools for " + device + "; use Settings.DEFAULT.synchronous()", null);
        }
        return new CudaAsyncResource(key.driver, key.ordinal, account);
    }

    /**
     * {@return the runtime of a device, ready for use, which the caller closes: the one that is in use, whatever its
     * settings, or a new one with {@link Settings#DEFAULT}}
     *
     * @param driver the driver
     * @param ordinal the device's ordinal
     * @throws DeviceException if there is no such device, it has no memory pools, or the driver fails; nothing is left
     */
    public static DeviceRuntime of(CudaDriver driver, int ordinal) {
        return of(new Key(driver, ordinal), null);
    }

    /**
     * Returns the runtime of a device: the one that is in use with the same settings, or a new one.
     *
     * @param driver the driver
     * @param ordinal the device's ordinal
     * @param settings the settings
     * @return the runtime, ready for use, which the caller closes
     * @throws IllegalStateException if one with other settings is in use
     * @throws DeviceException if there is no such device, it has no memory pools and the settings need them, or the
     *     driver fails; nothing is left
     */
    public static DeviceRuntime of(CudaDriver driver, int ordinal, Settings settings) {
        return of(new Key(driver, ordinal), settings);
    }

    private static DeviceRuntime of(Key key, @Nullable Settings settings) {
        synchronized (IN_USE) {
            final DeviceRuntime present = IN_USE.get(key);
            if (present == null) {
                final DeviceRuntime made = new DeviceRuntime(key, settings == null ? Settings.DEFAULT : settings);
                IN_USE.put(key, made);
                BudgetPressure.add(made.holder);
                return made;
            }
            if (settings != null && !settings.equals(present.settings)) {
                throw new IllegalStateException(present + " is in use with " + present.settings + ", not with "
                        + settings + "; use the same settings, or close it first");
            }
            present.users++;
            return present;
        }
    }

    /** {@return the driver} */
    public CudaDriver driver() {
        return key.driver;
    }

    /** {@return the device's CUDA ordinal} */
    public int ordinal() {
        return key.ordinal;
    }

    /** {@return the device's default memory, which its streams are of} */
    public MemoryInfo memory() {
        return device.defaultMemory();
    }

    /** {@return the budget of the device, one for the whole process} Its limit is set there, or by an environment. */
    public Budget budget() {
        return budget;
    }

    /**
     * {@return memory of the device within the budget: a budget over the log, if there is one, over the driver's
     * memory} It is deallocated before the last close.
     */
    public StreamOrderedMemoryResource resource() {
        return resource;
    }

    /** {@return a pool of streams, closed by the last close} */
    public StreamPool streams() {
        return streams;
    }

    /** {@return blocks that several streams use, of the same memory and within the same budget} */
    public TrackedMemory tracked() {
        return tracked;
    }

    /**
     * {@return a new stream outside the pool, as {@link CudaDevice#openStream} creates it, which the caller closes}
     *
     * @throws DeviceException if the driver fails
     * @throws IllegalStateException if this is closed
     */
    public SyncStream openStream() {
        return device.openStream();
    }

    /**
     * Makes a stream that other code has created usable here, as {@link CudaDevice#viewStream} does.
     *
     * @param handle a {@code CUstream} of the device's primary context, {@code 0} for its legacy default stream
     * @return the view, which the caller closes; the close does not destroy the stream
     * @throws IllegalArgumentException if it is no such stream, as far as the driver reports it
     * @throws IllegalStateException if a view of it is open, or it was made here, or this is closed
     * @throws DeviceException if the driver fails
     */
    public SyncStream viewStream(long handle) {
        return device.viewStream(handle);
    }

    /** {@return the bytes of the device at this moment} */
    public Status status() {
        final Budget.Status now = budget.status();
        return new Status(now.limit(), now.charge() - now.pending(), now.pending(), now.available());
    }

    /** Waits for the device, so that queued frees take effect, unless a stream is captured. */
    private void awaitDevice() {
        try {
            device.synchronize("wait for queued frees");
        } catch (StreamCaptureException e) {
            // What has taken effect goes back.
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    /**
     * Ends one use. The last one reaps, and ends the runtime if nothing of it is in use; never waits for work that is
     * queued on a stream of a user. After a failure of the driver, another call tries again.
     *
     * @throws IllegalStateException if streams or blocks are in use, which the message counts; this stays usable
     * @throws DeviceException if the driver fails; the runtime is not in use any more
     */
    @Override
    public void close() {
        synchronized (IN_USE) {
            if (users > 1) {
                users--;
                return;
            }
            if (users == 1) {
                requireUnused();
                users = 0;
                IN_USE.remove(key);
                BudgetPressure.remove(holder);
            }
            end();
        }
    }

    private void requireUnused() {
        boolean isPendingLost = false;
        try {
            tracked.reap();
        } catch (DeviceException e) {
            isPendingLost = true; // the device may be lost: the end reaps again, and reports it
        }
        final TrackedMemory.Status blocks = tracked.status();
        final List<String> left = new ArrayList<>();
        final int others = device.openStreams() - streams.size();
        addIfAny(left, streams.acquired(), " acquired streams");
        addIfAny(left, others, " other open streams");
        addIfAny(left, blocks.live(), " bytes of tracked blocks");
        addIfAny(left, isPendingLost ? 0 : blocks.pending(), " bytes pending, whose streams are at work");
        addIfAny(left, account.status().charge() - blocks.live() - blocks.pending(), " bytes of its resource");
        if (!left.isEmpty()) {
            throw new IllegalStateException(
                    this + " has " + String.join(", ", left) + "; release, close or free them first");
        }
    }

    private static void addIfAny(List<String> left, long number, String what) {
        if (number > 0) {
            left.add(number + what);
        }
    }

    /** Ends the parts as far as the driver lets it: blocks that are pending need events and memory still. */
    private void end() {
        final Failures failures = new Failures();
        failures.run(streams::close);
        failures.run(tracked::reap);
        if (tracked.status().pending() == 0) {
            failures.run(events::close);
            if (pool != null) {
                failures.run(pool::close);
            }
            failures.run(device::close);
        }
        failures.throwIfAny();
    }

    @Override
    public String toString() {
        return "the runtime of gpu:" + key.ordinal;
    }
}
