package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import allocator.onnxruntime.BlockNames.Event;
import allocator.onnxruntime.BlockNames.Expected;
import allocator.onnxruntime.MemoryProfile.Allocation;
import allocator.onnxruntime.MemoryProfile.Kind;
import allocator.onnxruntime.ProfileFile.Span;
import allocator.onnxruntime.block.SessionBudget;
import allocator.spi.AllocatorStats;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Runs that no model of the tests makes: on a device, beside others, and with frees that differ. */
class ProfiledRunTest {
    private static final long THREAD = 7;
    private static final OrtMemory DEVICE = new OrtMemory("Cuda", 0, 0, 256);

    private final HeapAllocator heap = new HeapAllocator();
    private final ExportedAllocator device = export(DEVICE);
    private final ExportedAllocator cpu = export(OrtMemory.CPU);
    private final List<Event> events = new ArrayList<>();
    private long used;

    private ExportedAllocator export(OrtMemory memory) {
        final SessionBudget budget = new SessionBudget(null, AllocatorStats.UNLIMITED);
        return new ExportedAllocator(
                heap, memory, null, budget, null, null, new FailureLog("the test", "no model", null));
    }

    @AfterEach
    void close() {
        device.close();
        cpu.close();
    }

    private void add(ExportedAllocator from, long micros, long address, long change) {
        used += Math.max(0, change);
        events.add(new Event(from, 1000 * micros, true, address, change, used));
        used += Math.min(0, change);
    }

    /** Two operators, from 100 to 200 and from 300 to 400 microseconds, in a run from 10 to 500. */
    private static List<Span> spans() {
        return new ArrayList<>(List.of(
                new Span("", "", THREAD, 10_000, 490_000),
                new Span("a", "Add", THREAD, 100_000, 200_000),
                new Span("b", "Mul", THREAD, 300_000, 400_000)));
    }

    private ProfiledRun join(List<Span> spans) {
        return join(spans, null);
    }

    private ProfiledRun join(List<Span> spans, @Nullable ProfiledRun first) {
        return new ProfiledRun(List.copyOf(events), events.size(), 10_000, 500_000, spans, List.of(40L, 80L), first);
    }

    private static List<String> names(ProfiledRun run) {
        return run.allocations().stream().map(Allocation::toString).toList();
    }

    @Test
    void copiesOfInputsAndOfOutputsAreNamed() {
        add(device, 20, 1, 80);
        add(device, 30, 2, 4000);
        add(device, 110, 3, 500);
        add(device, 120, 4, 600);
        add(device, 150, 4, -600);
        add(device, 210, 5, 70);
        add(device, 410, 3, -500);
        add(cpu, 450, 6, 500);

        assertEquals(
                List.of(
                        "inputs (input)",
                        "memory pattern (activation)",
                        "a (Add, activation)",
                        "a (Add, scratch)",
                        "unknown (unknown)",
                        "outputs (output)"),
                names(join(spans())));
    }

    @Test
    void aRunBesideAnotherIsUnknown() {
        add(cpu, 110, 3, 500);
        final List<Span> spans = spans();
        spans.addFirst(new Span("", "", THREAD + 1, 50_000, 480_000));
        spans.add(new Span("other", "Add", THREAD + 1, 100_000, 200_000));
        assertEquals(List.of("unknown (unknown)"), names(join(spans)));
    }

    @Test
    void anOperatorOnAnotherThreadLeavesLaterRunsUnknown() {
        add(cpu, 110, 3, 500);
        final List<Span> spans = spans();
        assertEquals(1, join(spans).expected().size());
        spans.add(new Span("c", "Add", THREAD + 1, 350_000, 360_000));
        assertEquals(List.of("a (Add, packed weight)"), names(join(spans)));
        assertEquals(List.of(), join(spans).expected());
    }

    @Test
    void aRunThatFreesEarlierIsAnother() {
        add(cpu, 110, 3, 500);
        add(cpu, 310, 4, 600);
        add(cpu, 320, 3, -500);
        final List<Expected> expected = join(spans()).expected();
        final BlockNames names = new BlockNames();
        names.begin();
        names.end();
        names.expect(expected);

        names.begin();
        assertEquals("a (Add, activation)", names.allocated(cpu, 3, 500));
        assertEquals("b (Mul, packed weight)", names.allocated(cpu, 4, 600));
        names.end();
        names.begin();
        assertEquals("a (Add, activation)", names.allocated(cpu, 3, 500));
        names.freeing(cpu, 3, 500);
        assertNull(names.allocated(cpu, 4, 600));
        names.end();
        names.begin();
        assertNull(names.allocated(device, 3, 500));
        assertNull(names.allocated(cpu, 3, 500));
        names.end();
        names.file().delete();
    }

    @Test
    void aTensorWithABlockOfItsOwnIsNotInThePattern() {
        add(cpu, 110, 3, 500);
        add(cpu, 310, 4, 600);
        add(cpu, 320, 3, -500);
        add(cpu, 410, 4, -600);
        final ProfiledRun first = join(spans());
        events.clear();
        add(cpu, 20, 9, 1000);
        add(cpu, 110, 3, 500);
        add(cpu, 320, 3, -500);
        add(cpu, 410, 9, -1000);
        assertEquals(
                List.of("b 600", "memory pattern 400", "a 500"),
                join(spans(), first).peak(cpu, 0, 0).stream()
                        .map(one -> one.node() + " " + one.byteSize())
                        .toList());
    }

    /** As another thread's block may, or one that was freed since. */
    @Test
    void bytesThatAnEventRefutesAreNotAtThePeak() {
        add(cpu, 110, 3, 500);
        add(cpu, 120, 3, -500);
        add(cpu, 130, 4, 600);
        assertEquals(
                List.of("a 600"),
                join(spans()).peak(cpu, 0, 500).stream()
                        .map(one -> one.node() + " " + one.byteSize())
                        .toList());
    }

    @Test
    void whatIsFreedOfEarlierRunsIsNoLongerAtThePeak() {
        used = 1400;
        add(cpu, 20, 9, -300);
        add(cpu, 110, 3, 500);
        final List<Allocation> peak = join(spans()).peak(cpu, 1000, 1400);
        assertEquals(
                List.of(1000L, 100L, 500L),
                peak.stream().map(Allocation::byteSize).toList());
        assertEquals(
                List.of(Kind.WEIGHT, Kind.UNKNOWN, Kind.PACKED_WEIGHT),
                peak.stream().map(Allocation::kind).toList());
    }
}
