package allocator.onnxruntime;

import allocator.onnxruntime.BlockNames.Event;
import allocator.onnxruntime.BlockNames.Expected;
import allocator.onnxruntime.MemoryProfile.Allocation;
import allocator.onnxruntime.MemoryProfile.Kind;
import allocator.onnxruntime.ProfileFile.Span;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A run of a session that was noted and profiled: its allocations with the operators whose time they fall in.
 *
 * <p>In a first run of some shapes ONNX Runtime allocates each tensor, in a second one a block for all of them, its
 * memory pattern. The first one's tensors that the second one does not allocate are in that block, each as long as it
 * lived in the first.
 */
final class ProfiledRun {
    /** Operators that run others, which and how often depends on values: what follows may differ in another run. */
    private static final Set<String> CONTROL_FLOW = Set.of("If", "Loop", "Scan", "SequenceMap", ProfileFile.UNREADABLE);

    private static final String PATTERN = "memory pattern";
    private static final String UNKNOWN = "unknown";

    /** The operators of the run's thread, in the order in which they began. */
    private final List<Span> operators;

    /** Whether operators ran on other threads as well, so that another run may have another order. */
    private final boolean isParallel;

    private final List<Block> blocks = new ArrayList<>();
    private final List<Event> events;

    /** How many of the events are of the run itself: the others are of the close of its result. */
    private final int ran;

    /** The block that each event is of; {@code null} where it is none of the run's. */
    private final List<@Nullable Block> blockOfEvent = new ArrayList<>();

    /** Those of the run that are live after the close of its result. */
    private final Map<Place, Block> left = new HashMap<>();

    /** A run of the same shapes before this one; {@code null} if this is the first. */
    private final @Nullable ProfiledRun first;

    private record Place(ExportedAllocator from, long address) {}

    /** A block of the run. */
    private static final class Block {
        private final ExportedAllocator from;
        private final long byteSize;

        /** The operator in whose time it was allocated, as a position; -1 before all of them. */
        private final int first;

        /** The last operator that began before it was freed. */
        private int last;

        private String node = UNKNOWN;
        private String operator = "";
        private Kind kind = Kind.UNKNOWN;

        Block(ExportedAllocator from, long byteSize, int first) {
            this.from = from;
            this.byteSize = byteSize;
            this.first = first;
            last = Integer.MAX_VALUE;
        }

        void name(String itsNode, String itsOperator, Kind itsKind) {
            node = itsNode;
            operator = itsOperator;
            kind = itsKind;
        }

        boolean isPattern() {
            return node.equals(PATTERN);
        }

        /** Returns whether one of another run is allocated by the same operator for the same purpose. */
        boolean isLike(Block other) {
            return from.equals(other.from) && first == other.first && byteSize == other.byteSize && kind == other.kind;
        }

        Allocation allocation() {
            return new Allocation(from.target().info(), byteSize, node, operator, kind);
        }
    }

    /**
     * Joins what was noted with what was profiled.
     *
     * @param events the allocations and frees from the begin of the run to the close of its result
     * @param ran how many of them are of the run
     * @param begin when it began, by the profile's clock
     * @param end when it ended
     * @param profile all spans
     * @param inputBytes the sizes of the inputs
     * @param first a run of the same shapes before this one; {@code null} if this is the first
     */
    ProfiledRun(
            List<Event> events,
            int ran,
            long begin,
            long end,
            List<Span> profile,
            List<Long> inputBytes,
            @Nullable ProfiledRun first) {
        this.first = first;
        this.events = events;
        this.ran = ran;
        final Predicate<Span> isWithin = span -> begin - 2000 <= span.begin() && span.begin() <= end;
        // Of two runs at once it would not be known which is this thread's.
        final List<Span> whole = profile.stream()
                .filter(span -> isWithin.test(span) && span.node().isEmpty())
                .toList();
        final long thread = whole.size() == 1 ? whole.getFirst().thread() : -1;
        operators = profile.stream()
                .filter(isWithin)
                .filter(span -> !span.node().isEmpty() && span.thread() == thread)
                .sorted(Comparator.comparingLong(Span::begin))
                .toList();
        isParallel = profile.stream().filter(isWithin).anyMatch(span -> span.thread() != thread);
        final List<Long> inputs = new ArrayList<>(inputBytes);
        final Map<Place, Block> older = first == null ? Map.of() : first.left;
        for (int i = 0; i < events.size(); i++) {
            final Event event = events.get(i);
            final Place place = new Place(event.from(), event.address());
            final Block block;
            if (event.change() > 0) {
                block = new Block(event.from(), event.change(), position(event.nanos()));
                blocks.add(block);
                left.put(place, block);
                if (event.isOfRun() && !operators.isEmpty() && i < ran) {
                    name(block, event.nanos(), inputs);
                }
            } else {
                final Block own = left.remove(place);
                if (own != null) {
                    free(own, event, i < ran);
                }
                block = own == null ? older.get(place) : own;
            }
            blockOfEvent.add(block);
        }
        left.values().forEach(block -> rename(block, Kind.PACKED_WEIGHT));
    }

    /** Returns the last operator that began before a moment; -1 if none did. */
    private int position(long nanos) {
        int low = 0;
        int high = operators.size();
        while (low < high) {
            final int middle = (low + high) >>> 1;
            if (operators.get(middle).begin() <= nanos) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - 1;
    }

    private void name(Block block, long nanos, List<Long> inputs) {
        if (block.first < 0) {
            if (!block.from.memory().equals(OrtMemory.CPU) && inputs.remove(block.byteSize)) {
                block.name("inputs", "", Kind.INPUT);
            } else {
                block.name(PATTERN, "", Kind.ACTIVATION);
            }
            return;
        }
        final Span span = operator(block.first, nanos);
        if (span != null && !span.node().equals(ProfileFile.UNREADABLE)) {
            block.name(span.node(), span.operator(), Kind.ACTIVATION);
        } else if (span == null && nanos >= operators.getLast().end()) {
            block.name("outputs", "", Kind.OUTPUT);
        }
    }

    /** Returns the innermost operator that ran at a moment; {@code null} if none did. */
    private @Nullable Span operator(int position, long nanos) {
        for (int i = position; i >= 0; i--) {
            if (operators.get(i).contains(nanos)) {
                return operators.get(i);
            }
        }
        return null;
    }

    private void free(Block block, Event event, boolean isInRun) {
        block.last = position(event.nanos());
        if (!isInRun) {
            rename(block, Kind.OUTPUT);
        } else if (event.isOfRun() && block.first >= 0) {
            final Span span = operators.get(block.first);
            if (span.node().equals(block.node) && span.contains(event.nanos())) {
                rename(block, Kind.SCRATCH);
            }
        }
    }

    /** Sets the kind of a tensor, as far as it has a name. */
    private static void rename(Block block, Kind kind) {
        if (block.kind == Kind.ACTIVATION && !block.isPattern()) {
            block.kind = kind;
        }
    }

    /** Returns the allocations, in their order. */
    List<Allocation> allocations() {
        return blocks.stream().map(Block::allocation).toList();
    }

    /** Returns what later runs of the same shapes allocate, as far as it depends on no value and no thread. */
    List<Expected> expected() {
        final List<Expected> expected = new ArrayList<>();
        int certain = 0;
        while (certain < operators.size()
                && !CONTROL_FLOW.contains(operators.get(certain).operator())) {
            certain++;
        }
        long inUse = 0;
        for (int i = 0; i < ran && !isParallel; i++) {
            final Event event = events.get(i);
            final Block block = blockOfEvent.get(i);
            if (!event.isOfRun()) {
                continue;
            }
            if (event.change() > 0 && block != null) {
                if (block.first >= certain) {
                    break;
                }
                final String name =
                        block.kind == Kind.UNKNOWN ? null : block.allocation().toString();
                expected.add(new Expected(event.from(), event.change(), inUse, name));
            }
            inUse += event.change();
        }
        return expected;
    }

    /**
     * Returns what is live in a memory when most is.
     *
     * @param weights the bytes of weights
     * @param used the bytes in use at the begin, or more: the events say how many there were at most
     */
    List<Allocation> peak(ExportedAllocator from, long weights, long used) {
        long before = used;
        long noted = 0;
        for (int i = 0; i < ran; i++) {
            final Event event = events.get(i);
            if (event.from().equals(from)) {
                before = Math.min(before, event.used() - noted - Math.max(0, event.change()));
                noted += event.change();
            }
        }
        final List<Block> inPattern = inPattern(from);
        final Set<Block> live = new LinkedHashSet<>();
        if (first != null) {
            first.left.values().stream()
                    .filter(block -> block.from.equals(from))
                    .forEach(live::add);
        }
        long others = before - weights - bytes(live);
        List<Allocation> atPeak = list(from, weights, others, live, inPattern);
        long most = 0;
        long inUse = 0;
        for (int i = 0; i < ran; i++) {
            final Event event = events.get(i);
            if (!event.from().equals(from)) {
                continue;
            }
            inUse += event.change();
            final Block block = blockOfEvent.get(i);
            if (block == null) {
                others += event.change();
            } else if (event.change() < 0) {
                live.remove(block);
            } else {
                live.add(block);
            }
            if (inUse > most) {
                most = inUse;
                atPeak = list(from, weights, others, live, inPattern);
            }
        }
        return atPeak;
    }

    /** Lists what is live; frees that are no block's are of what is unknown, and then of weights. */
    private static List<Allocation> list(
            ExportedAllocator from, long weights, long others, Set<Block> live, List<Block> inPattern) {
        final List<Allocation> list = new ArrayList<>();
        add(list, from, weights + Math.min(0, others), "weights", Kind.WEIGHT);
        add(list, from, others, UNKNOWN, Kind.UNKNOWN);
        for (final Block block : live) {
            if (block.isPattern() && !inPattern.isEmpty()) {
                inPattern.forEach(one -> list.add(one.allocation()));
                add(list, from, block.byteSize - bytes(inPattern), PATTERN, Kind.ACTIVATION);
            } else {
                list.add(block.allocation());
            }
        }
        return list;
    }

    private static void add(List<Allocation> list, ExportedAllocator from, long bytes, String node, Kind kind) {
        if (bytes > 0) {
            list.add(new Allocation(from.target().info(), bytes, node, "", kind));
        }
    }

    private static long bytes(Collection<Block> tensors) {
        return tensors.stream().mapToLong(one -> one.byteSize).sum();
    }

    /**
     * Returns the tensors that are in the block of this run's memory pattern when most of it is used: they are why it
     * is as large as it is, from the begin of the run to its end. Returns none if that is not known.
     */
    private List<Block> inPattern(ExportedAllocator from) {
        final List<Block> patterns = blocks.stream()
                .filter(block -> block.isPattern() && block.from.equals(from))
                .toList();
        if (patterns.size() != 1
                || first == null
                || first.blocks.stream().anyMatch(Block::isPattern)
                || !nodes().equals(first.nodes())) {
            return List.of();
        }
        final List<Block> tensors = new ArrayList<>(first.blocks);
        for (final Block block : blocks) {
            tensors.stream().filter(block::isLike).findFirst().ifPresent(tensors::remove);
        }
        tensors.removeIf(block -> !block.from.equals(from) || block.kind != Kind.ACTIVATION);
        List<Block> fullest = List.of();
        for (int i = 0; i < operators.size(); i++) {
            final int at = i;
            final List<Block> then = tensors.stream()
                    .filter(one -> one.first <= at && at <= one.last)
                    .toList();
            fullest = bytes(then) > bytes(fullest) ? then : fullest;
        }
        return bytes(fullest) > patterns.getFirst().byteSize ? List.of() : fullest;
    }

    private List<String> nodes() {
        return operators.stream().map(Span::node).toList();
    }
}
