package allocator.simulation.structure;

import allocator.provider.support.BlockLedger;
import allocator.testkit.FakeDevice;
import java.util.Iterator;
import java.util.TreeSet;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A device that takes memory back and then throws, and whose memory is handed out again. */
@Tag("thorough")
public class RetakenBlockModelTest {
    private static final int BLOCK = ReusingDevice.BLOCK;
    private static final int MOST_BLOCKS = 9;

    private final ReusingDevice device = new ReusingDevice(MOST_BLOCKS);

    private final BlockLedger<Void> ledger = BlockLedger.of(FakeDevice.INFO, (block, byteSize) -> {
        device.free(block);
        throw new IllegalStateException("after the memory was taken back");
    });

    /** Guarded by itself. */
    private final TreeSet<Long> live = new TreeSet<>();

    @Operation
    public void allocate() {
        final long address = ledger.allocate(BLOCK, device::alloc);
        synchronized (live) {
            if (!live.add(address)) {
                throw new AssertionError(address + " is allocated twice");
            }
        }
    }

    @Operation
    public void free() {
        final Long address = anyLive();
        if (address == null) {
            return;
        }
        ledger.free(address);
    }

    private @Nullable Long anyLive() {
        synchronized (live) {
            final Iterator<Long> addresses = live.iterator();
            if (!addresses.hasNext()) {
                return null;
            }
            final Long address = addresses.next();
            addresses.remove();
            return address;
        }
    }

    @Operation
    public void returnAgain() {
        ledger.returnAgain();
    }

    @Test
    void memoryThatIsAllocatedAgainIsNotReturnedAgain() {
        ModelCheck.check(RetakenBlockModelTest.class);
    }
}
