package allocator.simulation.structure;

import allocator.resource.base.LiveTable;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Param(name = "address", gen = IntGen.class, conf = "1:4")
@Tag("thorough")
public class LiveTableModelTest {
    private final LiveTable<String> table = new LiveTable<>(true);

    /** Adds an entry as an allocation does: the room first. */
    @Operation
    public void enter(@Param(name = "address") int address) {
        table.expect();
        table.add(address, 10L * address, "at " + address);
    }

    @Operation
    public String remove(@Param(name = "address") int address) {
        final String attachment = table.takeAttached(address, 10L * address);
        if (attachment != null) {
            table.settle(address, 10L * address, attachment, true);
        }
        return attachment;
    }

    @Operation
    public String find(@Param(name = "address") int address) {
        return table.attachment(address);
    }

    @Test
    void entriesAreWholeUnderTheLock() {
        ModelCheck.check(LiveTableModelTest.class);
    }
}
