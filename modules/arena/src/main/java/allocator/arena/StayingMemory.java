package allocator.arena;

import allocator.spi.ShrinkReport;
import java.util.ArrayList;
import java.util.List;

/** The memory that stays after a shrink, by the reason why. */
final class StayingMemory {
    private final List<ShrinkReport.Held> parts = new ArrayList<>();

    /** Adds memory that stays for a reason, if there is any. */
    void add(long byteSize, int regions, String reason) {
        if (byteSize > 0) {
            parts.add(new ShrinkReport.Held(byteSize, regions, reason));
        }
    }

    /** Adds what a lane holds outside regions and pages. Under the lane's lock. */
    void addOutside(Lane lane) {
        add(lane.blocks.reservedBytes(), 0, "reserves, each until it is freed");
        add(lane.blocks.leavingBytes(), 0, "memory that the upstream allocator failed to free; the close tries again");
    }

    List<ShrinkReport.Held> parts() {
        return parts;
    }
}
