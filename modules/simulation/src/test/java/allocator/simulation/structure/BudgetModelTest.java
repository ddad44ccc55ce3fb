package allocator.simulation.structure;

import allocator.provider.support.budget.Budget;
import java.util.Objects;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Param(name = "bytes", gen = IntGen.class, conf = "1:4")
@Tag("thorough")
public class BudgetModelTest {
    private final Budget root = Budget.of("root", 8);
    private final Budget limited = root.child("limited", 5);
    private final Budget reserved = Objects.requireNonNull(root.tryReserve("reserved", 4));

    @Operation
    public boolean chargeLimited(@Param(name = "bytes") int bytes) {
        return limited.tryCharge(bytes);
    }

    @Operation
    public boolean chargeReserved(@Param(name = "bytes") int bytes) {
        try {
            return reserved.tryCharge(bytes);
        } catch (IllegalStateException e) {
            return false;
        }
    }

    @Operation
    public boolean release(@Param(name = "bytes") int bytes) {
        try {
            limited.release(bytes);
            return true;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    @Operation
    public void setLimit(@Param(name = "bytes") int bytes) {
        limited.setLimit(bytes);
    }

    @Operation
    public void close() {
        reserved.close();
    }

    @Operation
    public String status() {
        return root.status().toString();
    }

    @Test
    void aChargeIsOneStepAtAllLevels() {
        ModelCheck.check(BudgetModelTest.class);
    }
}
