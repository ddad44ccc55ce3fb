package allocator.simulation.structure;

import allocator.provider.support.References;
import allocator.testkit.FakeDevice;
import java.util.IdentityHashMap;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Param(name = "key", gen = IntGen.class, conf = "0:1")
@Tag("thorough")
public class ReferencesModelTest {
    private final References<FakeDevice> references = new References<>();

    /** The allocators made for each key, in order; guarded by itself, as is what follows. */
    private final IdentityHashMap<FakeDevice, Integer> numbers = new IdentityHashMap<>();

    private final int[] made = new int[2];
    private final FakeDevice[] latest = new FakeDevice[2];

    @Operation
    public int acquire(@Param(name = "key") int key) {
        final FakeDevice allocator = references.acquireShared(key, () -> make(key));
        synchronized (numbers) {
            return numbers.get(allocator);
        }
    }

    private FakeDevice make(int key) {
        synchronized (numbers) {
            latest[key] = new FakeDevice();
            numbers.put(latest[key], made[key]++);
            return latest[key];
        }
    }

    @Operation
    public String release(@Param(name = "key") int key) {
        final FakeDevice allocator;
        synchronized (numbers) {
            allocator = latest[key];
        }
        return allocator == null ? "none" : references.release(allocator).toString();
    }

    @Operation
    public int count() {
        return references.count();
    }

    @Test
    void oneAllocatorIsMadeForAKeyAndTheLastReleaseIsReportedOnce() {
        ModelCheck.check(ReferencesModelTest.class);
    }
}
