package allocator.simulation.model;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Rejects the first event of a trace that the model of {@code src/test/model/allocator.pml} does not allow. Actions,
 * state and claims have the names that they have there; what the model bounds or has once, such as streams and the byte
 * X, is here as large as the trace needs. An event is a line: an action and its numbers.
 *
 * <pre>
 * limit BYTES                     the most bytes of pages
 * take PAGE BYTES                 the arena has a page, of any size, from the device
 * release PAGE                    the device has it again
 * map ADDRESS PAGE                the page is mapped at a place
 * unmap ADDRESS                   a mapping ends
 * allocate ADDRESS BYTES STREAM   a block; stream 0 for none
 * load ADDRESS BYTES              weights, a block without a stream
 * free ADDRESS                    before the arena knows of it
 * record STREAM EVENT             an event of a new number
 * wait STREAM EVENT               stream 0 is the host
 * close STREAM                    its blocks have no stream from then on, as its work is done
 * sleep ADDRESS, wake ADDRESS     weights are copied to the host; they have their contents again
 * share ADDRESS OTHER             weights have the pages of others with the same contents
 * write ADDRESS                   weights are written
 * begin, failed                   around an action that fails
 * end                             after all frees and a shrink
 * </pre>
 *
 * <p>If nothing was mapped when the first block is allocated, the trace has no pages, and every address is its own
 * byte.
 */
final class TraceChecker {
    /** The claims of the model. */
    enum Claim {
        OVERLAP,
        ORDER,
        UNMAP,
        LIMIT,
        FAILURE,
        RELEASE,
        LOST,
        ALIAS,
        CONTENTS
    }

    /** The bytes of a page begin at its number shifted by so much. */
    private static final int PAGE_SHIFT = 40;

    /** A range of addresses and the bytes that are seen there; both are the same without pages. */
    private record Piece(long address, long start, long byteSize) {
        boolean overlaps(long from, long size) {
            return start < from + size && from < start + byteSize;
        }

        boolean isSeenAt(long from, long size) {
            return address < from + size && from < address + byteSize;
        }
    }

    private static final class Block {
        private final long address;
        private final long byteSize;
        private long stream;
        private final boolean isWeights;
        private List<Piece> pieces;
        private boolean isShared;
        private boolean isAsleep;

        Block(long address, long byteSize, long stream, boolean isWeights, List<Piece> pieces) {
            this.address = address;
            this.byteSize = byteSize;
            this.stream = stream;
            this.isWeights = isWeights;
            this.pieces = pieces;
        }

        @Override
        public String toString() {
            return "block " + hex(address) + " of " + byteSize + " bytes on stream " + stream;
        }
    }

    /** Work that used a block that was freed. */
    private static final class Work {
        private final Block block;

        /** The streams that have waited for it since the free. */
        private final Set<Long> known = new HashSet<>();

        private boolean isDone;

        Work(Block block) {
            this.block = block;
        }
    }

    /**
     * What work may still use. If it is reused at another place, it still stands against the end of its own mapping; at
     * the same place the later work does, which is ordered after it.
     */
    private record Used(Piece piece, Work work, boolean isReused) {}

    private final Map<Long, Long> held = new HashMap<>();
    private final TreeMap<Long, Long> page = new TreeMap<>();
    private final TreeMap<Long, Block> live = new TreeMap<>();

    /** The bytes of live blocks that share none. */
    private final TreeMap<Long, Block> bytes = new TreeMap<>();

    private final Map<Long, Set<Work>> event = new HashMap<>();
    private List<Used> used = new ArrayList<>();
    private long limit = Long.MAX_VALUE;
    private long heldBytes;
    private long heldBefore;
    private int blocksBefore;
    private boolean hasPages;
    private int events;
    private String line = "";

    /** Reads the lines of a trace. */
    static void check(Iterable<String> lines) {
        final TraceChecker checker = new TraceChecker();
        lines.forEach(checker::accept);
    }

    /** Takes an event, or throws {@link AssertionError} with the event, the claim and what it is about. */
    void accept(String text) {
        line = text;
        events++;
        final String[] parts = text.split(" ", -1);
        final long[] n = new long[3];
        for (int i = 1; i < parts.length; i++) {
            n[i - 1] = Long.decode(parts[i]);
        }
        switch (parts[0]) {
            case "limit" -> limit = n[0];
            case "take" -> take(n[0], n[1]);
            case "release" -> release(n[0]);
            case "map" -> map(n[0], n[1]);
            case "unmap" -> unmap(n[0]);
            case "allocate" -> allocate(n[0], n[1], n[2], false);
            case "load" -> allocate(n[0], n[1], 0, true);
            case "free" -> free(n[0]);
            case "record" -> record(n[0], n[1]);
            case "wait" -> await(n[0], n[1]);
            case "close" ->
                live.values().stream().filter(block -> block.stream == n[0]).forEach(block -> block.stream = 0);
            case "sleep" -> sleep(weights(n[0]));
            case "wake" -> wake(weights(n[0]));
            case "share" -> share(weights(n[0]), weights(n[1]));
            case "write" -> write(weights(n[0]));
            case "begin" -> remember();
            case "failed" -> requireUnchanged();
            case "end" -> require(heldBytes == 0 && page.isEmpty(), Claim.LOST, "pages " + held + " at places " + page);
            default -> throw new IllegalArgumentException(text);
        }
    }

    private void require(boolean holds, Claim claim, Object state) {
        if (!holds) {
            throw new AssertionError(claim + " does not hold at event " + events + ", \"" + line + "\": " + state);
        }
    }

    private static String hex(long address) {
        return "0x" + Long.toHexString(address);
    }

    private void take(long number, long byteSize) {
        require(held.put(number, byteSize) == null, Claim.RELEASE, "the page is held");
        hasPages = true;
        heldBytes += byteSize;
        require(heldBytes <= limit, Claim.LIMIT, heldBytes + " bytes are held, the limit is " + limit);
    }

    private void release(long number) {
        final Long byteSize = held.remove(number);
        require(byteSize != null, Claim.RELEASE, "the page is not held");
        require(!page.containsValue(number), Claim.RELEASE, "it is mapped: " + page);
        requireDone(number << PAGE_SHIFT, byteSize, false);
        used.removeIf(each -> each.piece.overlaps(number << PAGE_SHIFT, byteSize));
        heldBytes -= byteSize;
    }

    private void map(long address, long number) {
        require(held.containsKey(number), Claim.RELEASE, "the page is not held");
        final Map.Entry<Long, Long> before = page.lowerEntry(address + held.get(number));
        require(
                before == null || before.getKey() + held.get(before.getValue()) <= address,
                Claim.UNMAP,
                "another page is mapped there");
        page.put(address, number);
    }

    private void unmap(long address) {
        final Long number = page.get(address);
        require(number != null, Claim.RELEASE, "no page is mapped there");
        final long byteSize = held.get(number);
        for (final Block block :
                live.headMap(address + byteSize, false).descendingMap().values()) {
            if (block.address + block.byteSize <= address) {
                break;
            }
            require(block.isAsleep, Claim.UNMAP, block + " is live");
        }
        requireDone(address, byteSize, true);
        page.remove(address);
    }

    private void requireDone(long from, long byteSize, boolean isAddress) {
        for (final Used each : used) {
            require(
                    each.work.isDone
                            || !(isAddress ? each.piece.isSeenAt(from, byteSize) : each.piece.overlaps(from, byteSize)),
                    Claim.UNMAP,
                    "the host has not waited for the work on " + each.work.block);
        }
    }

    private List<Piece> seen(long address, long byteSize) {
        if (!hasPages) {
            return List.of(new Piece(address, address, byteSize));
        }
        final List<Piece> pieces = new ArrayList<>();
        long from = address;
        while (from < address + byteSize) {
            final Map.Entry<Long, Long> place = page.floorEntry(from);
            require(
                    place != null && from < place.getKey() + held.get(place.getValue()),
                    Claim.CONTENTS,
                    "no page is mapped at " + hex(from));
            final long end = Math.min(address + byteSize, place.getKey() + held.get(place.getValue()));
            pieces.add(new Piece(from, (place.getValue() << PAGE_SHIFT) + from - place.getKey(), end - from));
            from = end;
        }
        return pieces;
    }

    private void allocate(long address, long byteSize, long stream, boolean isWeights) {
        final Block block = new Block(address, byteSize, stream, isWeights, seen(address, byteSize));
        block.pieces.forEach(piece -> occupy(piece, block));
        final Map.Entry<Long, Block> before = live.lowerEntry(address + byteSize);
        require(
                before == null || before.getKey() + before.getValue().byteSize <= address,
                Claim.OVERLAP,
                before == null ? "" : before.getValue());
        live.put(address, block);
    }

    private void occupy(Piece piece, Block block) {
        final Map.Entry<Long, Block> before = bytes.lowerEntry(piece.start + piece.byteSize);
        if (before != null && before.getValue() != block) {
            for (final Piece other : before.getValue().pieces) {
                require(!other.overlaps(piece.start, piece.byteSize), Claim.OVERLAP, before.getValue());
            }
        }
        if (used.stream().anyMatch(each -> each.piece.overlaps(piece.start, piece.byteSize))) {
            reuse(piece, block);
        }
        bytes.put(piece.start, block);
    }

    /** Requires that the work on these bytes is ordered before that of a stream, which uses them from now on. */
    private void reuse(Piece piece, Block block) {
        final List<Used> left = new ArrayList<>();
        for (final Used each : used) {
            final Piece old = each.piece;
            if (each.work.isDone || each.isReused || !old.overlaps(piece.start, piece.byteSize)) {
                left.add(each);
                continue;
            }
            require(
                    each.work.known.contains(block.stream),
                    Claim.ORDER,
                    "stream " + block.stream + " has not waited for the work on " + each.work.block + ", only "
                            + each.work.known + " have");
            final long from = Math.max(old.start, piece.start);
            final long to = Math.min(old.start + old.byteSize, piece.start + piece.byteSize);
            part(left, each, old.start, from, false);
            part(left, each, to, old.start + old.byteSize, false);
            if (old.address - old.start != piece.address - piece.start) {
                part(left, each, from, to, true);
            }
        }
        left.removeIf(each -> each.work.isDone);
        used = left;
    }

    private static void part(List<Used> parts, Used of, long from, long to, boolean isReused) {
        if (from < to) {
            final long address = of.piece.address + from - of.piece.start;
            parts.add(new Used(new Piece(address, from, to - from), of.work, isReused));
        }
    }

    private void free(long address) {
        final Block block = live.remove(address);
        require(block != null, Claim.OVERLAP, "no block begins there");
        block.pieces.forEach(piece -> bytes.remove(piece.start, block));
        if (block.stream != 0) {
            final Work work = new Work(block);
            work.known.add(block.stream);
            block.pieces.forEach(piece -> used.add(new Used(piece, work, false)));
        }
    }

    private void record(long stream, long number) {
        final Set<Work> known = new HashSet<>();
        used.stream()
                .map(Used::work)
                .filter(work -> work.known.contains(stream))
                .forEach(known::add);
        event.put(number, known);
    }

    private void await(long stream, long number) {
        for (final Work work : event.get(number)) {
            work.known.add(stream);
            work.isDone |= stream == 0;
        }
        if (stream == 0) {
            used.removeIf(each -> each.work.isDone);
        }
    }

    private Block weights(long address) {
        final Block block = live.get(address);
        require(block != null && block.isWeights, Claim.CONTENTS, "no weights are there");
        return block;
    }

    private void sleep(Block block) {
        require(!block.isAsleep, Claim.CONTENTS, block + " sleeps");
        block.pieces.forEach(piece -> bytes.remove(piece.start, block));
        block.isAsleep = true;
    }

    private void wake(Block block) {
        require(block.isAsleep, Claim.CONTENTS, block + " does not sleep");
        block.pieces = seen(block.address, block.byteSize);
        block.pieces.forEach(piece -> occupy(piece, block));
        block.isAsleep = false;
    }

    private void share(Block block, Block other) {
        block.pieces.forEach(piece -> bytes.remove(piece.start, block));
        other.pieces.forEach(piece -> bytes.remove(piece.start, other));
        block.pieces = other.pieces;
        block.isShared = true;
        other.isShared = true;
    }

    private void write(Block block) {
        require(!block.isShared, Claim.ALIAS, block + " is on a page with others");
        require(!block.isAsleep, Claim.CONTENTS, block + " sleeps");
    }

    private void remember() {
        heldBefore = heldBytes;
        blocksBefore = live.size();
    }

    private void requireUnchanged() {
        require(
                heldBytes <= heldBefore && live.size() == blocksBefore,
                Claim.FAILURE,
                heldBytes + " bytes are held, " + heldBefore + " were; " + live.size() + " blocks live, " + blocksBefore
                        + " did");
    }
}
