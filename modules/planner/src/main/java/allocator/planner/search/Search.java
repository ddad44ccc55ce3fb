package allocator.planner.search;

import java.util.Arrays;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/*
 * A depth-first search with proof for a plan within a capacity.
 *
 * Terms. A block is placed, or open with a least offset. Each open block's least offset is at least its support:
 * the highest end of the placed blocks that it overlaps. The floor of a section is the least offset of its open
 * blocks; its slack is what is left of the capacity when its open blocks are stacked as low as their least offsets
 * allow, in their order, which is the best that can be done for one section.
 *
 * Canonical plans. Blocks can be pushed down until each lies at 0 or on another one, so only such plans are
 * searched. The search takes an open block whose least offset is the lowest among the open blocks that it
 * overlaps. None of those can lie below it any more. Either it lies there, if it is supported there; or it lies on
 * a block that is still open, so that its least offset rises to the lowest end that an overlapping open block may
 * have. If there is none, there is no plan. Blocks that do not overlap need no order, so the search may proceed
 * wherever in time it likes (Focus).
 *
 * A node fails if a section has no slack. When a placement leaves no open block across some time, the open blocks
 * before and after it are independent components: if one has no plan, none of the choices within the others
 * matters.
 *
 * The sections, canonical plans, and the division into components follow MiniMalloc (Moffitt, ASPLOS 2023); the
 * order that is free in time, the rise of blocks that are not placed, and the bound of a section are this
 * project's.
 *
 * Cost of a node: the open blocks of the sections whose blocks' least offsets changed.
 */
final class Search {
    /** How a search ended. */
    enum Outcome {
        FOUND,
        IMPOSSIBLE,
        UNDECIDED
    }

    /** The components that are still to be solved: consecutive sections each, the current one first. */
    private record Component(
            int from,
            int to,
            int parentDepth,
            int ownDepth,
            @Nullable Component next) {
        Component begunAt(int depth) {
            return new Component(from, to, parentDepth, depth, next);
        }
    }

    private final Sections sections;
    private final int[] from;
    private final int[] to;
    private final long[] size;
    private final long[] alignment;
    private final int[][] neighbours;

    /** The blocks of each section: the placed ones, then the open ones, nearly in the order of their least offsets. */
    private final int[][] members;

    private final int[] placedIn;
    private final long[] least;
    private final long[] support;
    private final boolean[] isPlaced;
    private final long[] floor;
    private final long[] slack;

    /** The open block of each section that lies at its floor, of several the first in order. */
    private final long[] first;

    /** How many open blocks live in a section and in the one before it. */
    private final int[] crossing;

    private final long[] failures;
    private final Trail trail;
    private final BitSet dirty;
    private final int[] stack;
    private final int[] marks;
    private final Component[] components;
    private final Effort effort;
    private int depth;
    private int lastFailure;
    private long capacity;
    private long leastExcess;
    private Strategy strategy = Strategy.ALL.getFirst();
    private int[] ranks = new int[0];

    /** Prepares searches. The members are changed. */
    Search(Sections sections, int[][] members, int[][] neighbours, Effort effort) {
        this.sections = sections;
        this.effort = effort;
        final int n = sections.blocks();
        from = sections.from;
        to = sections.to;
        size = sections.size;
        alignment = sections.alignment;
        this.neighbours = neighbours;
        this.members = members;
        placedIn = new int[sections.count];
        least = new long[n];
        support = new long[n];
        isPlaced = new boolean[n];
        floor = new long[sections.count];
        slack = new long[sections.count];
        crossing = new int[sections.count];
        failures = new long[sections.count];
        first = new long[sections.count];
        trail = new Trail(least, support, floor, slack, first);
        dirty = new BitSet(sections.count);
        stack = new int[n];
        marks = new int[n];
        components = new Component[n];
    }

    /** Returns the offsets that were found; those of an earlier search are overwritten. */
    long[] offsets() {
        return least.clone();
    }

    /** Returns by how much the capacity must grow at least for another outcome than {@link Outcome#IMPOSSIBLE}. */
    long leastExcess() {
        return leastExcess;
    }

    /** Looks for a plan within a capacity, for a number of steps and an amount of work at most. */
    Outcome run(long capacity, Strategy strategy, int[] ranks, long stepLimit, long mostWork) {
        this.capacity = capacity;
        this.strategy = strategy;
        this.ranks = ranks;
        final long end = effort.work() + mostWork;
        reset();
        if (!isConsistent()) {
            return Outcome.IMPOSSIBLE;
        }
        Component current = new Component(0, sections.count, 0, 0, null);
        for (long steps = 0; steps < stepLimit && effort.work() < end && effort.step(); steps++) {
            int block = choose(current);
            while (block < 0) {
                if (current.next == null) {
                    return Outcome.FOUND;
                }
                current = current.next.begunAt(depth);
                block = choose(current);
            }
            boolean isGood;
            if (least[block] > support[block]) {
                isGood = raise(block);
            } else {
                stack[depth] = block;
                marks[depth] = trail.mark();
                components[depth] = current;
                depth++;
                isGood = place(block);
                current = isGood ? divide(block, current) : current;
            }
            while (!isGood) {
                if (depth == current.ownDepth) {
                    if (current.parentDepth == 0) {
                        return Outcome.IMPOSSIBLE;
                    }
                    while (depth > current.parentDepth) {
                        takeBack();
                    }
                }
                block = takeBack();
                current = components[depth];
                isGood = raise(block);
            }
        }
        return Outcome.UNDECIDED;
    }

    private void reset() {
        Arrays.fill(placedIn, 0);
        Arrays.fill(least, 0);
        Arrays.fill(support, 0);
        Arrays.fill(isPlaced, false);
        Arrays.fill(floor, 0);
        Arrays.fill(slack, 0);
        Arrays.fill(crossing, 0);
        // What is in a section and does not begin there.
        System.arraycopy(sections.live, 0, crossing, 0, crossing.length);
        for (final int s : from) {
            crossing[s]--;
        }
        trail.undo(0);
        dirty.set(0, sections.count);
        depth = 0;
        lastFailure = -1;
        leastExcess = Long.MAX_VALUE;
    }

    /** Returns the open block to decide on; -1 if the component has none. */
    private int choose(Component component) {
        final Focus focus = strategy.focus();
        effort.spend((long) component.to - component.from);
        int section = -1;
        long best = Long.MAX_VALUE;
        for (int s = component.from; s < component.to; s++) {
            final long f = floor[s];
            if (f != Long.MAX_VALUE) {
                final long key = focus.key(f, slack[s], s == lastFailure, failures[s]);
                if (section < 0 || key < best || (key == best && precedes(s, section))) {
                    section = s;
                    best = key;
                }
            }
        }
        if (section < 0) {
            return -1;
        }
        int block = (int) first[section];
        for (int lower = lowerSection(block); lower >= 0; lower = lowerSection(block)) {
            block = (int) first[lower];
        }
        return block;
    }

    /** Returns which of two sections of one key is chosen: the lower floor's, then that of the order's first block. */
    private boolean precedes(int section, int other) {
        return floor[section] != floor[other]
                ? floor[section] < floor[other]
                : strategy.focus() == Focus.LOWEST && ranks[(int) first[section]] < ranks[(int) first[other]];
    }

    /** Returns the section of a block whose floor is the lowest, if it is below the block; otherwise -1. */
    private int lowerSection(int block) {
        long lowest = least[block];
        int section = -1;
        for (int s = from[block]; s < to[block]; s++) {
            if (floor[s] < lowest) {
                lowest = floor[s];
                section = s;
            }
        }
        return section;
    }

    /** Places a block at its least offset; returns whether a plan may still exist. */
    private boolean place(int block) {
        isPlaced[block] = true;
        for (int s = from[block]; s < to[block]; s++) {
            final int[] blocks = members[s];
            effort.spend(blocks.length);
            final int open = placedIn[s]++;
            int i = open;
            while (blocks[i] != block) {
                i++;
            }
            blocks[i] = blocks[open];
            blocks[open] = block;
            if (s > from[block]) {
                crossing[s]--;
            }
        }
        dirty.set(from[block], to[block]);
        final long end = least[block] + size[block];
        for (final int other : neighbours[block]) {
            if (!isPlaced[other]) {
                final long lowest = Problem.roundUp(end, alignment[other]);
                if (lowest > support[other]) {
                    trail.setSupport(other, lowest);
                    if (lowest > least[other]) {
                        trail.setLeast(other, lowest);
                        dirty.set(from[other], to[other]);
                    }
                }
            }
        }
        return isConsistent();
    }

    /** Undoes the last placement; returns its block. */
    private int takeBack() {
        depth--;
        trail.undo(marks[depth]);
        final int block = stack[depth];
        isPlaced[block] = false;
        for (int s = from[block]; s < to[block]; s++) {
            placedIn[s]--;
            if (s > from[block]) {
                crossing[s]++;
            }
        }
        return block;
    }

    /** Raises a block that does not lie at its least offset; returns whether a plan may still exist. */
    private boolean raise(int block) {
        long end = Long.MAX_VALUE;
        for (final int other : neighbours[block]) {
            if (!isPlaced[other]) {
                end = Math.min(end, least[other] + size[other]);
            }
        }
        if (end == Long.MAX_VALUE) {
            return false;
        }
        trail.setLeast(block, Problem.roundUp(end, alignment[block]));
        dirty.set(from[block], to[block]);
        return isConsistent();
    }

    /** Divides the component if the block that was placed was the last across some time. */
    private Component divide(int block, Component current) {
        boolean isDivided = false;
        for (int s = from[block] + 1; s < to[block] && !isDivided; s++) {
            isDivided = crossing[s] == 0;
        }
        if (!isDivided) {
            return current;
        }
        Component list = current.next;
        int end = current.to;
        for (int s = current.to - 1; s >= current.from; s--) {
            if (s == current.from || crossing[s] == 0) {
                if (hasOpen(s, end)) {
                    list = new Component(s, end, depth, depth, list);
                }
                end = s;
            }
        }
        // What is left of the component itself is empty.
        return new Component(0, 0, depth, depth, list);
    }

    private boolean hasOpen(int start, int end) {
        for (int s = start; s < end; s++) {
            if (placedIn[s] < members[s].length) {
                return true;
            }
        }
        return false;
    }

    /**
     * Updates the sections whose blocks changed; returns whether all have slack. If the effort is cut, some may not be
     * up to date: no step follows then.
     */
    private boolean isConsistent() {
        boolean isGood = true;
        for (int s = dirty.nextSetBit(0); s >= 0 && isGood && !effort.isCut(); s = dirty.nextSetBit(s + 1)) {
            isGood = update(s);
        }
        dirty.clear();
        return isGood;
    }

    private boolean update(int section) {
        final int[] blocks = members[section];
        final int open = placedIn[section];
        effort.spend(4L * (blocks.length - open));
        sort(blocks, open);
        long end = 0;
        for (int i = open; i < blocks.length; i++) {
            final int b = blocks[i];
            end = Math.max(end, least[b]) + size[b];
        }
        if (end > capacity) {
            leastExcess = Math.min(leastExcess, end - capacity);
            failures[section]++;
            lastFailure = section;
            return false;
        }
        trail.setSlack(section, capacity - end);
        if (open == blocks.length) {
            trail.setFloor(section, Long.MAX_VALUE);
            return true;
        }
        int lowest = blocks[open];
        final long offset = least[lowest];
        for (int i = open + 1; i < blocks.length && least[blocks[i]] == offset; i++) {
            lowest = ranks[blocks[i]] < ranks[lowest] ? blocks[i] : lowest;
        }
        trail.setFloor(section, offset);
        trail.setFirst(section, lowest);
        return true;
    }

    /** Sorts open blocks by their least offsets. They nearly are. */
    private void sort(int[] blocks, int open) {
        for (int i = open + 1; i < blocks.length; i++) {
            final int b = blocks[i];
            final long offset = least[b];
            int j = i - 1;
            while (j >= open && least[blocks[j]] > offset) {
                blocks[j + 1] = blocks[j];
                j--;
            }
            blocks[j + 1] = b;
            effort.spend((long) i - j);
        }
    }
}
