package allocator.resource.tracked;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.budget.Budget;
import allocator.resource.FakeResource;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** Two tracked memories that charge one budget, or one of them a tenant below it. */
class TrackedSumsTest {
    private static final long LIMIT = 1000;

    @Property(tries = 300)
    void everyLevelKnowsWhatIsLivePendingAndAvailable(
            @ForAll boolean isBelow, @ForAll @Size(max = 60) List<@IntRange(max = 9_999) Integer> steps) {
        final FakeResource resource = new FakeResource(1 << 20);
        final FakeEvents events = new FakeEvents();
        final FakeStream stream = new FakeStream(resource.memory());
        final Budget device = Budget.of("device", LIMIT);
        final TrackedMemory one = new TrackedMemory(resource, events, device);
        final TrackedMemory two =
                new TrackedMemory(resource, events, isBelow ? device.child("tenant", LIMIT / 2) : device);
        final List<TrackedBlock> ofOne = new ArrayList<>();
        final List<TrackedBlock> ofTwo = new ArrayList<>();
        for (final int step : steps) {
            play(step, one, ofOne, events, stream);
            play(step / 7, two, ofTwo, events, stream);
            requireSums(device.status(), one.status(), ofOne, two.status(), ofTwo);
        }
        ofOne.forEach(one::free);
        ofTwo.forEach(two::free);
        events.advanceAll();
        one.reap();
        two.reap();
        one.close();
        two.close();
        assertThat(device.status().charge()).isZero();
        assertThat(device.status().pending()).isZero();
    }

    private static void play(
            int step, TrackedMemory memory, List<TrackedBlock> live, FakeEvents events, FakeStream stream) {
        switch (step % 5) {
            case 0, 1 -> {
                try {
                    live.add(memory.allocate(1 + step % 400, stream, "block"));
                } catch (OutOfMemoryException e) {
                    assertThat(e).hasMessageContaining("cannot grant");
                }
            }
            case 2 -> {
                if (!live.isEmpty()) {
                    memory.free(live.removeFirst());
                }
            }
            case 3 -> memory.reap();
            default -> events.advanceAll();
        }
    }

    private static void requireSums(
            Budget.Status all,
            TrackedMemory.Status one,
            List<TrackedBlock> ofOne,
            TrackedMemory.Status two,
            List<TrackedBlock> ofTwo) {
        assertThat(one.live()).isEqualTo(sum(ofOne));
        assertThat(two.live()).isEqualTo(sum(ofTwo));
        assertThat(all.pending()).isEqualTo(one.pending() + two.pending());
        assertThat(all.charge()).isEqualTo(one.live() + two.live() + all.pending());
        assertThat(all.charge() + all.available()).isEqualTo(LIMIT);
        assertThat(one.available()).isEqualTo(all.available());
    }

    private static long sum(List<TrackedBlock> blocks) {
        return blocks.stream().mapToLong(TrackedBlock::byteSize).sum();
    }
}
