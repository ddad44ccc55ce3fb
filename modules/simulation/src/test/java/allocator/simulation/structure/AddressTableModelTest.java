package allocator.simulation.structure;

import allocator.resource.base.AddressTable;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;

@Param(name = "address", gen = IntGen.class, conf = "1:4")
public class AddressTableModelTest {
    private final AddressTable<String> table = new AddressTable<>();

    @Operation
    public boolean put(@Param(name = "address") int address) {
        table.lock.lock();
        try {
            if (table.find(address) >= 0) {
                return false;
            }
            table.expect();
            table.expectNoMore();
            table.add(address, 10L * address, "at " + address);
            return true;
        } finally {
            table.lock.unlock();
        }
    }

    @Operation
    public boolean remove(@Param(name = "address") int address) {
        table.lock.lock();
        try {
            final int slot = table.find(address);
            if (slot < 0) {
                return false;
            }
            table.remove(slot);
            return true;
        } finally {
            table.lock.unlock();
        }
    }

    @Operation
    public String find(@Param(name = "address") int address) {
        table.lock.lock();
        try {
            final int slot = table.find(address);
            return slot < 0 ? "none" : table.value(slot) + " " + table.attachment(slot);
        } finally {
            table.lock.unlock();
        }
    }

    /** Adds an entry as an allocation does: the room first, the entry under another hold of the lock. */
    @Operation
    public void enter(@Param(name = "address") int address) {
        table.prepare();
        table.enter(address + 10L, address, null);
    }

    @Test
    void entriesAreWholeUnderTheLock() {
        ModelCheck.check(AddressTableModelTest.class);
    }
}
