package allocator.planner.search;

import java.util.Arrays;

/**
 * The sections of a part: the largest sets of blocks that live at one time, in the order of time. Between the beginning
 * of a block and the next end of one the set only grows, so a section is taken just before an end that follows a
 * beginning. Each block is in consecutive sections, at least one, and two blocks overlap if and only if they share a
 * section.
 */
final class Sections {
    /** The sections of a block are {@code from} to below {@code to}. */
    final int[] from;

    final int[] to;
    final long[] size;
    final long[] alignment;

    /** How long each block lives. */
    final double[] duration;

    final int count;

    /** The sizes of each section's blocks together. */
    final long[] total;

    /** The number of blocks in each section. */
    final int[] live;

    Sections(Problem problem, int[] blocks) {
        final int n = blocks.length;
        from = new int[n];
        to = new int[n];
        size = new long[n];
        alignment = new long[n];
        duration = new double[n];
        for (int i = 0; i < n; i++) {
            size[i] = problem.size[blocks[i]];
            alignment[i] = problem.alignment[blocks[i]];
            duration[i] = (double) problem.upper[blocks[i]] - problem.lower[blocks[i]];
        }
        count = cut(problem, blocks);
        total = new long[count];
        live = new int[count];
        addUp();
    }

    /** Adds what begins and takes away what has ended, from section to section. */
    private void addUp() {
        for (int i = 0; i < size.length; i++) {
            total[from[i]] += size[i];
            live[from[i]]++;
            if (to[i] < count) {
                total[to[i]] -= size[i];
                live[to[i]]--;
            }
        }
        for (int s = 1; s < count; s++) {
            total[s] += total[s - 1];
            live[s] += live[s - 1];
        }
    }

    /** Numbers the sections by walking over beginnings and ends; returns how many there are. */
    private int cut(Problem problem, int[] blocks) {
        final int n = blocks.length;
        final long[] ends = new long[n];
        for (int i = 0; i < n; i++) {
            ends[i] = problem.upper[blocks[i]];
        }
        final int[] byEnd = new int[n];
        Arrays.setAll(byEnd, i -> i);
        final int[] ordered = Problem.sorted(byEnd, ends);
        int section = 0;
        boolean hasGrown = false;
        int ended = 0;
        for (int i = 0; i < n; i++) {
            while (ends[ordered[ended]] <= problem.lower[blocks[i]]) {
                section += hasGrown ? 1 : 0;
                hasGrown = false;
                to[ordered[ended++]] = section;
            }
            from[i] = section;
            hasGrown = true;
        }
        while (ended < n) {
            to[ordered[ended++]] = section + 1;
        }
        return section + 1;
    }

    int blocks() {
        return size.length;
    }

    /** Returns the memberships of blocks in sections, which is what tables of the search cost. */
    long memberships() {
        return Arrays.stream(live).asLongStream().sum();
    }

    /** Returns the largest total: no plan is lower. */
    long bound() {
        return Arrays.stream(total).max().orElse(0);
    }

    /** Returns the blocks of each section; incomplete if the effort is cut. */
    int[][] members(Effort effort) {
        final int[][] members = new int[count][];
        final int[] filled = new int[count];
        for (int s = 0; s < count && effort.spend(live[s]); s++) {
            members[s] = new int[live[s]];
        }
        for (int i = 0; i < size.length && effort.spend((long) to[i] - from[i]); i++) {
            for (int s = from[i]; s < to[i]; s++) {
                members[s][filled[s]++] = i;
            }
        }
        return members;
    }

    /** Returns how many pairs of blocks overlap. */
    long overlaps() {
        long pairs = 0;
        final int[] starting = new int[count + 1];
        for (final int s : from) {
            starting[s]++;
        }
        for (int s = 0; s < count; s++) {
            // Blocks that begin in a section overlap those that are there already, and one another.
            final long begun = starting[s];
            pairs += begun * (live[s] - begun) + begun * (begun - 1) / 2;
        }
        return pairs;
    }

    /** Returns the blocks that overlap each block; incomplete if the effort is cut. */
    int[][] neighbours(int[][] members, Effort effort) {
        final int n = size.length;
        final int[] counts = new int[n];
        final int[][] neighbours = new int[n][];
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < n && effort.spend(4L * live[from[i]]); i++) {
                // Each pair once: where the later one begins.
                for (final int j : members[from[i]]) {
                    if (from[j] < from[i] || (from[j] == from[i] && j < i)) {
                        if (pass == 1) {
                            neighbours[i][counts[i]] = j;
                            neighbours[j][counts[j]] = i;
                        }
                        counts[i]++;
                        counts[j]++;
                    }
                }
            }
            if (pass == 0) {
                Arrays.setAll(neighbours, i -> new int[counts[i]]);
                Arrays.fill(counts, 0);
            }
        }
        return neighbours;
    }
}
