package allocator.spi;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Counters of an allocator at one moment: those of ONNX Runtime, with the same meaning, and a few more. All sizes are
 * bytes. A counter that an allocator does not maintain is {@code 0}; one that counts at all maintains what is in use,
 * requested and held, the peaks, and {@code numAllocs} (S-01). {@code limit} is {@link #UNLIMITED} if there is none.
 *
 * <p>Peaks, counts of calls and the largest size never fall (S-02). Reserves with one physical copy, as of
 * {@link PagedReserves}, count once (S-01).
 *
 * <p>For every allocator {@code requestedBytesInUse <= bytesInUse <= bytesHeld <= peakBytesHeld}, and {@code bytesInUse
 * <= peakBytesInUse}; for an arena {@code bytesInUse + freeBytes == bytesHeld} (S-02).
 *
 * <p>An allocator may add {@linkplain Counter counters of its own}, the same ones on every call (S-06).
 *
 * @param limit the limit of {@code bytesHeld}, {@link #UNLIMITED} if there is none; key {@code Limit}
 * @param bytesInUse the sizes of live blocks, padding and headers included; key {@code InUse}
 * @param requestedBytesInUse the sizes of live blocks, as requested; key {@code RequestedInUse}
 * @param bytesHeld taken from the device and not returned, reserves included; key {@code TotalAllocated}
 * @param freeBytes held but not in use; an allocator that is no arena may leave it at {@code 0}; key {@code FreeBytes}
 * @param largestFreeChunk the largest request, as the allocator rounds it, that takes no memory from the device: one
 *     without a stream, or one of a stream, whichever gets most; key {@code LargestFreeChunk}
 * @param peakBytesInUse the peak of {@code bytesInUse}, or an upper bound of it if threads or parts are counted
 *     separately; key {@code MaxInUse}
 * @param peakBytesHeld the peak of {@code bytesHeld}; key {@code MaxTotalAllocated}
 * @param maxAllocSize the size of the largest block so far, reserves and padding included; key {@code MaxAllocSize}
 * @param numAllocs successful allocations so far, reserves included; key {@code NumAllocs}
 * @param numReserves successful reserves so far; key {@code NumReserves}
 * @param numFailedAllocs calls of this allocator, allocations and reserves, that failed with
 *     {@link OutOfMemoryException}, each once: a request that its caller tries again counts again, and one that a
 *     budget in front of this allocator rejects does not count; key {@code NumFailedAllocs}
 * @param numArenaExtensions device allocations that the arena holds now: extensions minus regions returned, as ONNX
 *     Runtime counts. An allocator that counts them is an arena by the contract; key {@code NumArenaExtensions}
 * @param numArenaShrinkages regions returned to the device so far, reserves excluded; key {@code NumArenaShrinkages}
 * @param counters the counters of the allocator's own, each under its name, in any order; empty if it has none
 */
public record AllocatorStats(
        long limit,
        long bytesInUse,
        long requestedBytesInUse,
        long bytesHeld,
        long freeBytes,
        long largestFreeChunk,
        long peakBytesInUse,
        long peakBytesHeld,
        long maxAllocSize,
        long numAllocs,
        long numReserves,
        long numFailedAllocs,
        long numArenaExtensions,
        long numArenaShrinkages,
        List<Counter> counters) {

    /** The keys of {@link #toMap}, in the order of the components. */
    private static final List<String> KEYS = List.of(
            "Limit",
            "InUse",
            "RequestedInUse",
            "TotalAllocated",
            "FreeBytes",
            "LargestFreeChunk",
            "MaxInUse",
            "MaxTotalAllocated",
            "MaxAllocSize",
            "NumAllocs",
            "NumReserves",
            "NumFailedAllocs",
            "NumArenaExtensions",
            "NumArenaShrinkages");

    /** What a {@link Counter} counts. */
    public enum Unit {
        /** Events or things. */
        COUNT,
        /** Bytes. */
        BYTES,
        /** Time, in nanoseconds. */
        NANOSECONDS
    }

    /**
     * A counter of an allocator's own.
     *
     * @param name its key in {@link #toMap}: letters and digits, a letter first, in the style of the other keys; none
     *     of theirs
     * @param value its value
     * @param unit what it counts
     * @param isMonotone whether it never decreases while the allocator is open
     */
    public record Counter(String name, long value, Unit unit, boolean isMonotone) {
        /**
         * Checks the name.
         *
         * @throws IllegalArgumentException if it is not of that form, or the key of another statistic
         */
        public Counter {
            Objects.requireNonNull(unit, "unit");
            if (!isName(name) || KEYS.contains(name)) {
                throw new IllegalArgumentException("'" + name + "' is no name for a counter: it has letters and digits,"
                        + " a letter first, and is none of " + KEYS);
            }
        }

        private static boolean isName(String name) {
            for (int i = 0; i < name.length(); i++) {
                final char character = name.charAt(i);
                final boolean isLetter = (character | 0x20) >= 'a' && (character | 0x20) <= 'z';
                if (!isLetter && (i == 0 || character < '0' || character > '9')) {
                    return false;
                }
            }
            return !name.isEmpty();
        }
    }

    /** The {@link #limit} of an allocator without one. */
    public static final long UNLIMITED = -1;

    /** The statistics of an allocator that maintains no counters. */
    public static final AllocatorStats NONE = new Builder().build();

    /**
     * Copies the counters.
     *
     * @throws IllegalArgumentException if two counters have one name
     */
    public AllocatorStats {
        counters = List.copyOf(counters);
        if (counters.size() > 1) {
            final Set<String> names = new HashSet<>();
            for (final Counter counter : counters) {
                if (!names.add(counter.name)) {
                    throw new IllegalArgumentException("two counters have the name " + counter.name);
                }
            }
        }
    }

    /**
     * {@return a counter of the allocator's own, or empty if there is none of that name}
     *
     * @param name its name
     */
    public Optional<Counter> counter(String name) {
        return counters.stream().filter(counter -> counter.name.equals(name)).findFirst();
    }

    /** {@return the same numbers without {@link #counters}: the statistics that all allocators have} */
    public AllocatorStats withoutCounters() {
        return counters.isEmpty() ? this : copy(List.of());
    }

    private AllocatorStats copy(List<Counter> others) {
        return new AllocatorStats(
                limit,
                bytesInUse,
                requestedBytesInUse,
                bytesHeld,
                freeBytes,
                largestFreeChunk,
                peakBytesInUse,
                peakBytesHeld,
                maxAllocSize,
                numAllocs,
                numReserves,
                numFailedAllocs,
                numArenaExtensions,
                numArenaShrinkages,
                others);
    }

    /**
     * {@return how much of the free memory cannot be allocated as one block: {@code 1 - largestFreeChunk / freeBytes},
     * from 0 (all in one chunk, or nothing free) to below 1; {@link Double#NaN} if memory is free and the allocator
     * does not maintain {@link #largestFreeChunk}}
     */
    public double fragmentation() {
        if (freeBytes == 0) {
            return 0;
        }
        return largestFreeChunk == 0 ? Double.NaN : 1 - (double) largestFreeChunk / freeBytes;
    }

    /**
     * {@return the counters under ONNX Runtime's keys, and those of the allocator's own under their names, as decimal
     * strings: an unmodifiable map in the order of the components, every key present}
     */
    public Map<String, String> toMap() {
        final long[] values = {
            limit,
            bytesInUse,
            requestedBytesInUse,
            bytesHeld,
            freeBytes,
            largestFreeChunk,
            peakBytesInUse,
            peakBytesHeld,
            maxAllocSize,
            numAllocs,
            numReserves,
            numFailedAllocs,
            numArenaExtensions,
            numArenaShrinkages
        };
        final Map<String, String> map = new LinkedHashMap<>();
        for (int i = 0; i < values.length; i++) {
            map.put(KEYS.get(i), Long.toString(values[i]));
        }
        for (final Counter counter : counters) { // not a lambda: the dump of a failure should load no class
            map.put(counter.name, Long.toString(counter.value));
        }
        return Collections.unmodifiableMap(map);
    }

    /** Builds statistics. A counter not set is {@code 0}, the limit {@link #UNLIMITED}. Not for several threads. */
    public static final class Builder {
        private long limit = UNLIMITED;
        private long bytesInUse;
        private long requestedBytesInUse;
        private long bytesHeld;
        private long freeBytes;
        private long largestFreeChunk;
        private long peakBytesInUse;
        private long peakBytesHeld;
        private long maxAllocSize;
        private long numAllocs;
        private long numReserves;
        private long numFailedAllocs;
        private long numArenaExtensions;
        private long numArenaShrinkages;
        private List<Counter> counters = List.of();

        /** Starts with all counters at zero. */
        public Builder() {}

        /**
         * Sets the limit.
         *
         * @param value bytes, or {@link #UNLIMITED}
         * @return this builder
         */
        public Builder limit(long value) {
            limit = value;
            return this;
        }

        /**
         * Sets the bytes of live blocks.
         *
         * @param allocated their sizes, padding included
         * @param requested their sizes, as requested
         * @param peak the peak of {@code allocated}
         * @return this builder
         */
        public Builder inUse(long allocated, long requested, long peak) {
            bytesInUse = allocated;
            requestedBytesInUse = requested;
            peakBytesInUse = peak;
            return this;
        }

        /**
         * Sets the bytes taken from the device.
         *
         * @param held bytes held now
         * @param peak the peak of {@code held}
         * @return this builder
         */
        public Builder held(long held, long peak) {
            bytesHeld = held;
            peakBytesHeld = peak;
            return this;
        }

        /**
         * Sets the bytes held but not in use.
         *
         * @param bytes all of them
         * @param largest the largest free chunk
         * @return this builder
         */
        public Builder free(long bytes, long largest) {
            freeBytes = bytes;
            largestFreeChunk = largest;
            return this;
        }

        /**
         * Sets the counts of calls.
         *
         * @param allocs successful allocations, reserves included
         * @param reserves successful reserves
         * @param failed failed allocations and reserves
         * @param maxSize the size of the largest block so far
         * @return this builder
         */
        public Builder calls(long allocs, long reserves, long failed, long maxSize) {
            numAllocs = allocs;
            numReserves = reserves;
            numFailedAllocs = failed;
            maxAllocSize = maxSize;
            return this;
        }

        /**
         * Sets the counts of an arena.
         *
         * @param extensions regions held now
         * @param shrinkages regions returned so far
         * @return this builder
         */
        public Builder regions(long extensions, long shrinkages) {
            numArenaExtensions = extensions;
            numArenaShrinkages = shrinkages;
            return this;
        }

        /**
         * Adds a counter of the allocator's own (S-06).
         *
         * @param name its name, see {@link Counter}
         * @param value its value
         * @param unit what it counts
         * @param isMonotone whether it never decreases
         * @return this builder
         * @throws IllegalArgumentException if it cannot have that name
         */
        public Builder counter(String name, long value, Unit unit, boolean isMonotone) {
            return counters(List.of(new Counter(name, value, unit, isMonotone)));
        }

        /**
         * Adds counters, such as those of an allocator that this one wraps.
         *
         * @param others the counters
         * @return this builder
         */
        public Builder counters(Collection<Counter> others) {
            if (!others.isEmpty()) {
                final List<Counter> all = new ArrayList<>(counters);
                all.addAll(others);
                counters = all;
            }
            return this;
        }

        /**
         * {@return the statistics}
         *
         * @throws IllegalArgumentException if two counters have one name
         */
        public AllocatorStats build() {
            return new AllocatorStats(
                    limit,
                    bytesInUse,
                    requestedBytesInUse,
                    bytesHeld,
                    freeBytes,
                    largestFreeChunk,
                    peakBytesInUse,
                    peakBytesHeld,
                    maxAllocSize,
                    numAllocs,
                    numReserves,
                    numFailedAllocs,
                    numArenaExtensions,
                    numArenaShrinkages,
                    counters);
        }
    }
}
