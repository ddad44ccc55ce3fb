package allocator.simulation.structure;

import allocator.provider.support.BlockLedger;
import allocator.spi.InvalidFreeException;
import allocator.testkit.FakeDevice;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("thorough")
public class BlockLedgerModelTest {
    private static final int BLOCK = 256;

    private final FakeDevice device = new FakeDevice();
    private final BlockLedger<Void> ledger = BlockLedger.of(FakeDevice.INFO, (block, byteSize) -> device.free(block));

    /** Guarded by itself. */
    private final Deque<Long> live = new ArrayDeque<>();

    @Operation
    public void allocate() {
        final long address = ledger.allocate(BLOCK, device::alloc);
        synchronized (live) {
            live.add(address);
        }
    }

    /** Frees a block that stays in the list, so that two threads free the same one. */
    @Operation
    public void free() {
        final Long address;
        synchronized (live) {
            address = live.peek();
        }
        if (address == null) {
            return;
        }
        try {
            ledger.free(address);
        } catch (InvalidFreeException e) {
            // Another thread has freed it.
        }
        synchronized (live) {
            live.remove(address);
        }
    }

    /** Returns what the other thread allocates and frees at the same time; that thread may find its block gone. */
    @Operation
    public void returnAll() {
        ledger.returnAll();
    }

    @Validate
    public void countsWhatTheDeviceCounts() {
        if (ledger.bytesInUse() != device.liveBytes()) {
            throw new AssertionError(ledger.bytesInUse() + " bytes in use, device " + device.liveBytes());
        }
    }

    @Test
    void aBlockIsFreedOnce() {
        ModelCheck.check(BlockLedgerModelTest.class);
    }
}
