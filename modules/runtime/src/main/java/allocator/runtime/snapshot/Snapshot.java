package allocator.runtime.snapshot;

import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The memory of an environment or a session as a value: which devices, sessions and allocators there are, and what each
 * allocator holds, chunk by chunk. All collections are unmodifiable.
 *
 * <p>Each lane of each allocator is described as it was at one moment. The moments differ: an allocator's statistics
 * are read right after its chunks, and one allocator after the other.
 *
 * <p>A name of a session, an owner or a thread has at most {@value #MAX_NAME} characters here: a longer one is cut, and
 * ends with an ellipsis.
 *
 * @param takenAt when it was taken
 * @param scope the session's name, or {@code environment}
 * @param failure the request that could not be served, if the snapshot was taken for it; otherwise {@code null}
 * @param leaks the blocks that were live when their owner was closed, if the snapshot was taken for them; otherwise
 *     {@code null}
 * @param devices the devices: those of the environment, or of the sessions if it was taken for a failure
 * @param sessions the sessions that are not over, the youngest first
 * @param allocators the allocators, each instance once
 * @param history the recent events of the process, the oldest first; empty unless they are remembered
 */
public record Snapshot(
        Instant takenAt,
        String scope,
        @Nullable Failure failure,
        @Nullable Leaks leaks,
        List<Device> devices,
        List<SessionState> sessions,
        List<AllocatorState> allocators,
        List<Event> history) {
    /** The most characters of a name of a session, an owner or a thread. */
    public static final int MAX_NAME = 200;

    /** Copies the lists, and cuts the name. */
    public Snapshot {
        Objects.requireNonNull(takenAt, "takenAt");
        scope = cut(scope);
        devices = List.copyOf(devices);
        sessions = List.copyOf(sessions);
        allocators = List.copyOf(allocators);
        history = List.copyOf(history);
    }

    private static String cut(String name) {
        if (name.length() <= MAX_NAME) {
            return name;
        }
        final int end = MAX_NAME - 1;
        return name.substring(0, Character.isHighSurrogate(name.charAt(end - 1)) ? end - 1 : end) + "\u2026";
    }

    /**
     * An event that preceded the snapshot.
     *
     * @param kind what happened
     * @param microsAgo how long before the snapshot, in microseconds; an allocation or a free may be younger
     * @param owner who made the request; empty for growth and shrink
     * @param memory the name of the memory
     * @param device the number of its device among those of its kind
     * @param address the address; {@code 0} for a failure
     * @param byteSize the bytes requested, taken or returned; {@code 0} for a free
     * @param streamId the id of the stream of an allocation, {@code 0} for none
     */
    public record Event(
            Kind kind,
            long microsAgo,
            String owner,
            String memory,
            int device,
            long address,
            long byteSize,
            long streamId) {
        /** Cuts the name. */
        public Event {
            owner = cut(owner);
        }

        /** What happened. */
        public enum Kind {
            /** A block was allocated. */
            ALLOCATION,
            /** A block was about to be freed. */
            FREE,
            /** An arena took memory from its device. */
            GROWTH,
            /** An arena returned memory to its device. */
            SHRINK,
            /** A request failed. */
            FAILURE
        }
    }

    /**
     * A request that failed for lack of memory. All figures are bytes, and {@link #UNKNOWN} where they are not known.
     *
     * @param reason the message of the exception
     * @param owner the name of the session that made the request, or {@code environment}
     * @param thread the name of the thread that made the request
     * @param memory the memory that ran out
     * @param requested the size requested
     * @param rounded the size that would have been taken
     * @param limit the limit of what is held; {@link AllocatorStats#UNLIMITED} if there is none
     * @param inUse the bytes of live blocks
     * @param held the bytes taken from the device
     * @param largestFree the largest free chunk that the requester could use
     * @param deviceFree the bytes free on the device
     * @param limitedBy the budget that rejected the request, such as {@code the budget of two}: {@code limit} is its
     *     limit then, and {@code inUse} what is charged to it; empty if no budget did
     * @param stack frames of the program, from the one that called the runtime outwards; before them the operator that
     *     requested the memory, as in {@link Site#frame}, if that is known
     */
    public record Failure(
            String reason,
            String owner,
            String thread,
            MemoryInfo memory,
            long requested,
            long rounded,
            long limit,
            long inUse,
            long held,
            long largestFree,
            long deviceFree,
            String limitedBy,
            List<String> stack) {
        /** Stands for a figure that is not known. */
        public static final long UNKNOWN = -2;

        /** Copies the list, and cuts the names. */
        public Failure {
            owner = cut(owner);
            thread = cut(thread);
            stack = List.copyOf(stack);
        }
    }

    /**
     * Blocks that were live when their owner was closed. They are leaks unless they are still freed later.
     *
     * @param closed what was closed, such as {@code session bert}
     * @param blocks how many there were
     * @param recorded how many of them have a recorded call site
     * @param sites the call sites with the most bytes, these first
     * @param omittedSites how many further call sites are left out
     */
    public record Leaks(String closed, long blocks, long recorded, List<LeakSite> sites, long omittedSites) {
        /** Copies the list, and cuts the name. */
        public Leaks {
            closed = cut(closed);
            sites = List.copyOf(sites);
        }
    }

    /**
     * The recorded blocks that one line of the program has allocated.
     *
     * @param owner the name of the session that allocated them, or {@code environment}
     * @param memory the memory, such as {@code Cpu (cpu:0)}
     * @param frame the caller, as {@link Site#frame}
     * @param blocks how many there are
     * @param bytes the bytes requested, of all of them
     * @param oldestMillis how long ago the oldest was allocated, in milliseconds
     */
    public record LeakSite(String owner, String memory, String frame, long blocks, long bytes, long oldestMillis) {
        /** Cuts the name. */
        public LeakSite {
            owner = cut(owner);
        }
    }

    /**
     * A device.
     *
     * @param provider the name of its provider
     * @param type its kind, such as {@code gpu}
     * @param ordinal its number among those of its kind
     * @param name its name
     */
    public record Device(String provider, String type, int ordinal, String name) {}

    /**
     * A session.
     *
     * @param name its name; several may have the same
     * @param isClosed whether it was closed, and is kept by live blocks or a run
     * @param liveBlocks how many of its blocks are live, in all its allocators
     */
    public record SessionState(String name, boolean isClosed, long liveBlocks) {
        /** Cuts the name. */
        public SessionState {
            name = cut(name);
        }
    }

    /**
     * An instance of a provider's allocator.
     *
     * @param provider the name of its provider, or {@code application}
     * @param memory the memory that it serves
     * @param options the effective options
     * @param stats its statistics, read right after the chunks
     * @param users who uses it
     * @param memoryMap its regions, chunks and blocks; empty if they are not known
     * @param missing why the chunks are not known; empty if they are
     * @param sites where blocks were allocated, by address, as far as that was recorded
     */
    public record AllocatorState(
            String provider,
            MemoryInfo memory,
            Map<String, String> options,
            AllocatorStats stats,
            List<User> users,
            AllocatorSnapshot memoryMap,
            String missing,
            Map<Long, Site> sites) {
        /** Copies the collections. */
        public AllocatorState {
            options = Collections.unmodifiableMap(new TreeMap<>(options));
            users = List.copyOf(users);
            sites = Map.copyOf(sites);
        }
    }

    /**
     * Who uses an allocator.
     *
     * @param owner the name of a session, or {@code environment}
     * @param liveBlocks how many blocks of this user are live
     */
    public record User(String owner, long liveBlocks) {
        /** Cuts the name. */
        public User {
            owner = cut(owner);
        }
    }

    /**
     * Where and when a block was allocated.
     *
     * @param owner the name of the session that allocated it
     * @param frame the caller, such as {@code com.example.Model.load(Model.java:42)}; or the operator of a model, such
     *     as {@code /encoder/layer.3/MatMul (MatMul, activation)}, and {@code at} the caller if that is known too; its
     *     parts are a {@link BlockName}
     * @param ageMillis how long ago, in milliseconds; {@link #UNKNOWN_AGE} if that was not recorded
     * @param byteSize the bytes requested; {@code 0} if that was not recorded
     */
    public record Site(String owner, String frame, long ageMillis, long byteSize) {
        /** Stands for an age that was not recorded. */
        public static final long UNKNOWN_AGE = -1;

        /** Cuts the name. */
        public Site {
            owner = cut(owner);
        }
    }
}
