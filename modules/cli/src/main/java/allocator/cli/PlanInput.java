package allocator.cli;

import allocator.cli.output.Terminal;
import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.plan.PlanFile;
import allocator.plan.PlanFileException;
import allocator.trace.Trace;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The blocks to plan. Those of one stream are a group: groups share no memory, because a trace does not say when one
 * stream waits for another. A reserve is no block of a plan, as an arena serves it outside its regions.
 *
 * @param name the name of the file or trace
 * @param ids the ids of all blocks
 * @param instance all blocks
 * @param groups the indices of the blocks of each group
 * @param livePeak the most bytes that live at once, of all groups together
 * @param reserves how many reserves are left out
 */
record PlanInput(
        String name, List<String> ids, Instance instance, List<List<Integer>> groups, long livePeak, int reserves) {
    /** What offsets in a trace are multiples of: enough for every device. */
    static final int TRACE_ALIGNMENT = 256;

    /** In place of the block of a slot. */
    private static final int RESERVED = -1;

    PlanInput {
        ids = List.copyOf(ids);
        groups = List.copyOf(groups);
    }

    /**
     * Reads a file of blocks, a trace, or a bundled trace.
     *
     * @throws UsageException if there is no such file
     * @throws CommandException if it cannot be read, or is neither
     */
    static PlanInput read(String name, Terminal terminal) {
        try {
            final Path file = Path.of(name);
            if (PlanFile.isPlanFile(file)) {
                final PlanFile blocks = PlanFile.read(file);
                final List<Integer> all =
                        IntStream.range(0, blocks.ids().size()).boxed().toList();
                return new PlanInput(
                        file.getFileName().toString(), blocks.ids(), blocks.instance(), List.of(all), 0, 0);
            }
        } catch (InvalidPathException e) {
            throw new UsageException(name + ": " + e.getReason(), e);
        } catch (PlanFileException e) {
            throw new CommandException(e.getMessage(), e);
        }
        return of(NamedTrace.read(name, terminal));
    }

    /** Returns the blocks of a trace. A block lives from the event that allocates it to its free, or the end. */
    private static PlanInput of(Trace trace) {
        final int blocks = trace.allocationCount() - trace.reserveCount();
        final long[] lower = new long[blocks];
        final long[] upper = new long[blocks];
        final long[] byteSize = new long[blocks];
        final int[] blockOfSlot = new int[trace.slotCount()];
        final List<List<Integer>> groups = new ArrayList<>();
        for (int stream = 0; stream < trace.streamCount(); stream++) {
            groups.add(new ArrayList<>());
        }
        int next = 0;
        long live = 0;
        long peak = 0;
        for (int event = 0; event < trace.eventCount(); event++) {
            final int slot = trace.slot(event);
            if (trace.isReserve(event)) {
                blockOfSlot[slot] = RESERVED;
            } else if (trace.isAllocation(event)) {
                lower[next] = event;
                upper[next] = trace.eventCount();
                byteSize[next] = trace.byteSize(event);
                live += byteSize[next];
                peak = Math.max(peak, live);
                groups.get(trace.stream(event)).add(next);
                blockOfSlot[slot] = next++;
            } else if (blockOfSlot[slot] != RESERVED) {
                upper[blockOfSlot[slot]] = event;
                live -= byteSize[blockOfSlot[slot]];
            }
        }
        groups.removeIf(List::isEmpty);
        return new PlanInput(
                trace.name(),
                IntStream.range(0, blocks).mapToObj(Integer::toString).toList(),
                new Instance(IntStream.range(0, blocks)
                        .mapToObj(block -> new Lifetime(lower[block], upper[block], byteSize[block], TRACE_ALIGNMENT))
                        .toList()),
                groups,
                peak,
                trace.reserveCount());
    }

    /** Returns the blocks of a group. */
    Instance group(int index) {
        return new Instance(groups.get(index).stream().map(instance::lifetime).toList());
    }
}
