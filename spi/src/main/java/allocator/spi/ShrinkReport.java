package allocator.spi;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * What a shrink released, what is still held, and why.
 *
 * <p>{@link #toString} is a sentence for a person to read.
 *
 * @param bytesReleased bytes returned to the device
 * @param regionsReleased device allocations returned; {@code 0} if the allocator has no regions. What an earlier call
 *     failed to return, and this one did, need not be counted here
 * @param bytesHeld bytes still held afterwards
 * @param regionsInUse device allocations that are held because they contain a live block; of an arena, its regions, and
 *     no reserve
 * @param regionsKept free device allocations that are held for another reason
 * @param held the parts of {@code bytesHeld}, each with the reason for which it stays, and each reason once; their
 *     bytes add up to {@code bytesHeld}. Empty if nothing is held, or if the allocator gives no reasons
 */
public record ShrinkReport(
        long bytesReleased, int regionsReleased, long bytesHeld, int regionsInUse, int regionsKept, List<Held> held) {

    /**
     * Memory that a shrink did not return.
     *
     * @param bytes its size
     * @param regions the device allocations that it consists of; {@code 0} if they are not counted, as those of
     *     reserves are not in an arena
     * @param reason what it is and what keeps it, for a person to read; it names the option that would return it, if
     *     there is one
     */
    public record Held(long bytes, int regions, String reason) {
        /** Checks that there is a reason. */
        public Held {
            Objects.requireNonNull(reason, "reason");
        }

        private Held plus(Held other) {
            return new Held(bytes + other.bytes, regions + other.regions, reason);
        }

        @Override
        public String toString() {
            return ByteSizes.describe(bytes) + inRegions(regions) + ": " + reason;
        }
    }

    /** Copies the list. */
    public ShrinkReport {
        held = List.copyOf(held);
    }

    /**
     * Makes the report of an allocator that gives no reasons.
     *
     * @param bytesReleased bytes returned to the device
     * @param regionsReleased device allocations returned
     * @param bytesHeld bytes still held afterwards
     * @param regionsInUse device allocations that are held because they contain a live block
     * @param regionsKept free device allocations that are held for another reason
     */
    public ShrinkReport(long bytesReleased, int regionsReleased, long bytesHeld, int regionsInUse, int regionsKept) {
        this(bytesReleased, regionsReleased, bytesHeld, regionsInUse, regionsKept, List.of());
    }

    /**
     * Returns the report of two shrinks of different memory.
     *
     * @param other the report of the other one
     * @return the sums; without reasons if one of the two holds memory and gives none
     */
    public ShrinkReport plus(ShrinkReport other) {
        final Map<String, Held> byReason = new LinkedHashMap<>();
        if (givesReasons() && other.givesReasons()) {
            held.forEach(part -> byReason.merge(part.reason, part, Held::plus));
            other.held.forEach(part -> byReason.merge(part.reason, part, Held::plus));
        }
        return new ShrinkReport(
                bytesReleased + other.bytesReleased,
                regionsReleased + other.regionsReleased,
                bytesHeld + other.bytesHeld,
                regionsInUse + other.regionsInUse,
                regionsKept + other.regionsKept,
                new ArrayList<>(byReason.values()));
    }

    private boolean givesReasons() {
        return bytesHeld == 0 || !held.isEmpty();
    }

    @Override
    public String toString() {
        return ByteSizes.describe(bytesReleased) + inRegions(regionsReleased) + " returned, "
                + ByteSizes.describe(bytesHeld) + " held"
                + held.stream().map(part -> "; " + part).collect(Collectors.joining());
    }

    private static String inRegions(int regions) {
        return regions == 0 ? "" : regions == 1 ? " in 1 region" : " in " + regions + " regions";
    }
}
