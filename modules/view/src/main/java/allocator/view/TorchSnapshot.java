package allocator.view;

import allocator.runtime.snapshot.BlockName;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import allocator.view.pickle.PickleWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Writes a snapshot as one of PyTorch's, for its viewer, memory_viz. A region is a segment; where parts of it have no
 * memory, each part that has is one. A chunk that waits for a stream is pending free there, whatever is cached or free
 * is inactive. A failure is an event {@code oom}.
 */
public final class TorchSnapshot {
    /** Addresses are cut to what a number of JavaScript holds. */
    private static final long ADDRESS_MASK = (1L << 53) - 1;

    /** From here on PyTorch calls a segment large. */
    private static final long LARGE = 1 << 20;

    /** The digits of the largest line number that is written. */
    private static final int LONGEST_LINE = 9;

    /** In the year 9999. */
    private static final long LATEST_SECOND = 253_402_300_799L;

    /** The most devices that have a list of events. */
    private static final int MOST_DEVICES = 1024;

    private static final Pattern FRAME = Pattern.compile("(.*?)\\(([^():]*)(?::(\\d+))?\\)");

    private final PickleWriter out;
    private final Snapshot snapshot;

    private TorchSnapshot(PickleWriter out, Snapshot snapshot) {
        this.out = out;
        this.snapshot = snapshot;
    }

    /** Memory side by side, to be shown as a segment. */
    private record Segment(AllocatorState allocator, long address, List<Chunk> chunks) {
        long bytes(State... states) {
            return chunks.stream()
                    .filter(chunk -> List.of(states).contains(chunk.state()))
                    .mapToLong(Chunk::byteSize)
                    .sum();
        }
    }

    /**
     * {@return the pickle of a snapshot: the file's content}
     *
     * @param snapshot the snapshot
     */
    public static byte[] of(Snapshot snapshot) {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        try {
            final PickleWriter pickle = new PickleWriter(out);
            new TorchSnapshot(pickle, snapshot).write();
            pickle.end();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return out.toByteArray();
    }

    private void write() throws IOException {
        final List<Segment> segments = segments();
        final Map<Integer, List<TorchHistory.Entry>> history = TorchHistory.of(snapshot);
        final Set<Integer> devices = new TreeSet<>(history.keySet());
        segments.forEach(segment -> devices.add(device(segment.allocator())));
        final Failure failure = snapshot.failure();
        if (failure != null) {
            devices.add(failure.memory().deviceOrdinal());
        }
        final int most = devices.stream().mapToInt(ordinal -> ordinal + 1).max().orElse(0);
        final List<List<PickleWriter.Part>> byDevice = new ArrayList<>();
        for (int device = 0; device < Math.clamp(most, 0, MOST_DEVICES); device++) {
            final List<PickleWriter.Part> events = new ArrayList<>();
            history.getOrDefault(device, List.of()).forEach(entry -> events.add(() -> write(entry)));
            if (failure != null && failure.memory().deviceOrdinal() == device) {
                events.add(() -> write(failure));
            }
            byDevice.add(events);
        }
        out.dictionary(() -> {
            out.text("segments");
            out.list(segments, this::write);
            out.text("device_traces");
            out.list(byDevice, events -> out.list(events, PickleWriter.Part::write));
            out.text("allocator_settings");
            out.dictionary(() -> {});
        });
    }

    private static int device(AllocatorState allocator) {
        return allocator.memory().deviceOrdinal();
    }

    private List<Segment> segments() {
        final List<Segment> segments = new ArrayList<>();
        for (final AllocatorState allocator : snapshot.allocators()) {
            for (final Region region : allocator.memoryMap().regions()) {
                addParts(segments, allocator, region);
            }
            allocator
                    .memoryMap()
                    .blocks()
                    .forEach(block -> segments.add(new Segment(allocator, block.address(), List.of(block))));
        }
        segments.sort(Comparator.comparingLong(segment -> segment.address() & ADDRESS_MASK));
        return segments;
    }

    private static void addParts(List<Segment> segments, AllocatorState allocator, Region region) {
        List<Chunk> part = new ArrayList<>();
        for (final Chunk chunk : region.chunks()) {
            if (chunk.state() != State.UNMAPPED) {
                part.add(chunk);
            } else if (!part.isEmpty()) {
                segments.add(new Segment(allocator, part.getFirst().address(), part));
                part = new ArrayList<>();
            }
        }
        if (!part.isEmpty()) {
            segments.add(new Segment(allocator, part.getFirst().address(), part));
        }
    }

    private void write(Segment segment) throws IOException {
        final long total = segment.bytes(State.values());
        out.dictionary(() -> {
            number("device", device(segment.allocator()));
            number("address", segment.address() & ADDRESS_MASK);
            number("total_size", total);
            number("stream", 0);
            text("segment_type", total >= LARGE ? "large" : "small");
            out.text("segment_pool_id");
            out.pair(0, 0);
            out.text("is_expandable");
            out.truth(false);
            number("allocated_size", segment.bytes(State.LIVE));
            number("active_size", segment.bytes(State.LIVE, State.WAITING));
            number(
                    "requested_size",
                    segment.chunks().stream().mapToLong(Chunk::requestedBytes).sum());
            frames(List.of());
            out.text("blocks");
            out.list(segment.chunks(), chunk -> write(segment.allocator(), chunk));
        });
    }

    private void write(AllocatorState allocator, Chunk chunk) throws IOException {
        out.dictionary(() -> {
            number("address", chunk.address() & ADDRESS_MASK);
            number("size", chunk.byteSize());
            number("requested_size", chunk.requestedBytes());
            text("state", state(chunk.state()));
            frames(chunk.state() == State.LIVE ? frames(allocator, chunk) : List.of());
        });
    }

    private static String state(State state) {
        return switch (state) {
            case LIVE -> "active_allocated";
            case WAITING -> "active_pending_free";
            case CACHED, FREE, UNMAPPED, UNRETURNED, PINNED -> "inactive";
        };
    }

    /** Returns the operator, layer, kind and call site of a block, as far as they are known, and its session. */
    private static List<String> frames(AllocatorState allocator, Chunk chunk) {
        final List<String> frames = new ArrayList<>();
        final Site site = allocator.sites().get(chunk.address());
        if (site != null) {
            parts(site.frame()).forEach(frames::add);
            frames.add("session " + site.owner());
        } else if (allocator.users().size() == 1) {
            frames.add("session " + allocator.users().getFirst().owner());
        }
        return frames;
    }

    private static Stream<String> parts(String frame) {
        final BlockName name = BlockName.of(frame);
        return Stream.of(name.node(), name.layer(), name.kind(), name.line())
                .filter(part -> !part.isEmpty())
                .distinct();
    }

    private void write(TorchHistory.Entry entry) throws IOException {
        out.dictionary(() -> {
            text("action", entry.action());
            number("addr", entry.address() & ADDRESS_MASK);
            number("size", entry.byteSize());
            number("stream", entry.stream());
            number("time_us", Math.max(0, takenAt() - entry.event().microsAgo()));
            frames(
                    entry.event().owner().isEmpty()
                            ? List.of()
                            : List.of("session " + entry.event().owner()));
        });
    }

    /** Returns when the snapshot was taken, in microseconds since 1970. */
    private long takenAt() {
        return Math.clamp(snapshot.takenAt().getEpochSecond(), 0, LATEST_SECOND) * 1_000_000;
    }

    private void write(Failure failure) throws IOException {
        out.dictionary(() -> {
            text("action", "oom");
            number("addr", 0);
            number("size", failure.requested());
            number("stream", 0);
            number("time_us", takenAt());
            number("device_free", Math.max(0, failure.deviceFree()));
            frames(failure.stack().stream().flatMap(TorchSnapshot::parts).toList());
        });
    }

    private void frames(List<String> frames) throws IOException {
        out.text("frames");
        out.list(frames, frame -> {
            final Matcher parts = FRAME.matcher(frame);
            final boolean isFrame = parts.matches();
            out.dictionary(() -> {
                text("filename", isFrame ? parts.group(2) : "");
                number("line", isFrame && parts.group(3) != null ? line(parts.group(3)) : 0);
                text("name", isFrame ? parts.group(1) : frame);
            });
        });
    }

    private static long line(String digits) {
        return digits.length() > LONGEST_LINE ? 0 : Long.parseLong(digits);
    }

    private void number(String key, long value) throws IOException {
        out.text(key);
        out.number(value);
    }

    private void text(String key, String value) throws IOException {
        out.text(key);
        out.text(value);
    }
}
