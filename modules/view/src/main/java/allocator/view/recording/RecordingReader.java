package allocator.view.recording;

import allocator.runtime.snapshot.BlockName;
import allocator.runtime.snapshot.Snapshot.Failure;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import jdk.jfr.AnnotationElement;
import jdk.jfr.EventType;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordingFile;

/** Collects the events of this project from a recording, in order of time. */
final class RecordingReader {
    private static final String PREFIX = "allocator.";
    private static final String SCHEMA = "SchemaVersion";
    private static final int KNOWN_SCHEMA = 1;
    private static final int MOST_FRAMES = 16;

    /** What lies between the program and the event. */
    private static final List<String> OURS = List.of(
            "allocator.provider.support.event.",
            "allocator.runtime.",
            "allocator.arena.",
            "allocator.resource.",
            "allocator.onnxruntime.",
            "allocator.arrow.",
            "ai.onnxruntime.",
            "org.apache.arrow.",
            "jdk.proxy",
            "java.lang.foreign.",
            "java.lang.invoke.",
            "jdk.internal.");

    final List<BlockEvent> blocks = new ArrayList<>();
    final List<HeldEvent> held = new ArrayList<>();
    final List<RecordedFailure> failures = new ArrayList<>();
    private final Map<String, RecordedCalls> calls = new LinkedHashMap<>();
    private final List<RecordedEvent> sessionEvents = new ArrayList<>();
    private final Map<String, String> texts = new HashMap<>();
    private final Map<RecordedMemory, RecordedMemory> memories = new HashMap<>();
    long lost;

    /** A change of what is held. */
    record HeldEvent(long nanos, long bytes) {}

    static RecordingReader read(Path file) throws IOException {
        RecordingChunks.check(file);
        final RecordingReader reader = new RecordingReader();
        try (RecordingFile recording = new RecordingFile(file)) {
            requireKnown(file.toString(), recording.readEventTypes());
            while (recording.hasMoreEvents()) {
                reader.add(recording.readEvent());
            }
        }
        reader.blocks.sort(Comparator.comparingLong(BlockEvent::nanos));
        reader.held.sort(Comparator.comparingLong(HeldEvent::nanos));
        reader.failures.sort(Comparator.comparing(RecordedFailure::at));
        reader.sessionEvents.sort(Comparator.comparing(RecordedEvent::getStartTime));
        return reader;
    }

    private static void requireKnown(String file, List<EventType> types) throws RecordingException {
        boolean isOurs = false;
        for (final EventType type : types) {
            for (final AnnotationElement annotation : type.getAnnotationElements()) {
                if (type.getName().startsWith(PREFIX)
                        && annotation.getTypeName().endsWith(SCHEMA)) {
                    isOurs = true;
                    final int version = ((Number) annotation.getValue("value")).intValue();
                    if (version > KNOWN_SCHEMA) {
                        throw new RecordingException(
                                file,
                                "has events of version " + version + ", and this program reads " + KNOWN_SCHEMA
                                        + ": use the program of the recorded application's version",
                                null);
                    }
                }
            }
        }
        if (!isOurs) {
            throw new RecordingException(
                    file, "has no events of java.allocator: record with settings=java-allocator.jfc", null);
        }
    }

    private void add(RecordedEvent event) {
        final String name = event.getEventType().getName();
        if (name.equals("jdk.DataLoss")) {
            lost++;
        }
        if (!name.startsWith(PREFIX)) {
            return;
        }
        switch (name.substring(PREFIX.length())) {
            case "Allocation" -> addBlock(event, event.getLong("byteSize"));
            case "Free" -> addBlock(event, BlockEvent.FREE);
            case "Growth" -> addCall(event, "growth", event.getString("part"), 1);
            case "Shrink" -> addCall(event, "shrink", event.getString("part"), -1);
            case "Mapping" -> addCall(event, event.getBoolean("isMap") ? "map" : "unmap", "", 0);
            case "SessionSleep" -> addCall(event, event.getBoolean("isSleep") ? "sleep" : "wake", "", 0);
            case "Failure" -> addFailure(event);
            case "SessionOpen", "SessionClose" -> sessionEvents.add(event);
            default -> {
                // An event of a later version, which this one need not know.
            }
        }
    }

    private void addBlock(RecordedEvent event, long byteSize) {
        final boolean isFree = byteSize == BlockEvent.FREE;
        if (!isFree && byteSize < 0) {
            throw new IllegalArgumentException("an allocation of " + byteSize + " bytes");
        }
        blocks.add(new BlockEvent(
                nanos(event.getStartTime()),
                memory(event),
                event.getLong("address"),
                byteSize,
                isFree ? 0 : event.getLong("stream"),
                !isFree && event.getBoolean("isReserve"),
                text(event, "owner"),
                isFree ? "" : site(event)));
    }

    private String site(RecordedEvent event) {
        final String site = BlockName.join(
                event.hasField("name") ? text(event, "name") : "",
                frames(event, 1).findFirst().orElse(""));
        return texts.computeIfAbsent(site, same -> same);
    }

    private void addCall(RecordedEvent event, String operation, String part, int sign) {
        final RecordedMemory memory = memory(event);
        final boolean isSuccess = event.getBoolean("isSuccess");
        final long byteSize = isSuccess ? Math.max(0, event.getLong("byteSize")) : 0;
        final Duration took = event.getDuration();
        calls.merge(
                memory + "\n" + operation + "\n" + part,
                new RecordedCalls(memory, operation, part, 1, isSuccess ? 0 : 1, byteSize, took, took),
                RecordedCalls::plus);
        if (isSuccess && sign != 0) {
            held.add(new HeldEvent(nanos(event.getEndTime()), sign * byteSize));
        }
    }

    private void addFailure(RecordedEvent event) {
        final RecordedMemory memory = memory(event);
        failures.add(new RecordedFailure(
                event.getStartTime(),
                memory,
                new Failure(
                        text(event, "reason"),
                        text(event, "owner"),
                        "",
                        RecordedStates.info(memory),
                        event.getLong("requested"),
                        figure(event, "rounded"),
                        figure(event, "limit"),
                        figure(event, "inUse"),
                        figure(event, "held"),
                        figure(event, "largestFree"),
                        figure(event, "deviceFree"),
                        event.hasField("limitedBy") ? text(event, "limitedBy") : "",
                        frames(event, MOST_FRAMES).toList())));
    }

    private static long figure(RecordedEvent event, String field) {
        final long figure = event.getLong(field);
        return figure == Long.MIN_VALUE ? Failure.UNKNOWN : figure;
    }

    private RecordedMemory memory(RecordedEvent event) {
        final RecordedMemory memory = new RecordedMemory(text(event, "memory"), text(event, "device"));
        return memories.computeIfAbsent(memory, same -> same);
    }

    /** Returns a text, the same object for equal ones: there may be millions. */
    private String text(RecordedEvent event, String field) {
        final String text = event.getString(field);
        return text == null ? "" : texts.computeIfAbsent(text, same -> same);
    }

    private Stream<String> frames(RecordedEvent event, int most) {
        final RecordedStackTrace stack = event.getStackTrace();
        return stack == null
                ? Stream.empty()
                : stack.getFrames().stream()
                        .filter(RecordedFrame::isJavaFrame)
                        .map(RecordingReader::describe)
                        .dropWhile(frame -> OURS.stream().anyMatch(frame::startsWith))
                        .limit(most)
                        .map(frame -> texts.computeIfAbsent(frame, same -> same));
    }

    /** Describes a frame as a stack trace does; the file is not recorded, so it is taken from the outermost class. */
    private static String describe(RecordedFrame frame) {
        final String type = frame.getMethod().getType().getName();
        final int nested = type.indexOf('$');
        final String outermost = nested < 0 ? type : type.substring(0, nested);
        final String file = outermost.substring(outermost.lastIndexOf('.') + 1) + ".java";
        return type + "." + frame.getMethod().getName()
                + (frame.getLineNumber() < 0 ? "" : "(" + file + ":" + frame.getLineNumber() + ")");
    }

    private static long nanos(Instant at) {
        return ChronoUnit.NANOS.between(Instant.EPOCH, at);
    }

    List<RecordedCalls> calls() {
        return List.copyOf(calls.values());
    }

    List<RecordedSession> sessions() {
        final List<RecordedSession> sessions = new ArrayList<>();
        final Map<String, Deque<Integer>> open = new HashMap<>();
        for (final RecordedEvent event : sessionEvents) {
            final String name = text(event, "owner");
            final Deque<Integer> same = open.computeIfAbsent(name, _ -> new ArrayDeque<>());
            if (event.getEventType().getName().endsWith("Open")) {
                same.push(sessions.size());
                sessions.add(new RecordedSession(name, event.getStartTime(), null, 0));
                continue;
            }
            final long live = event.getLong("liveBlocks");
            if (same.isEmpty()) {
                sessions.add(new RecordedSession(name, null, event.getStartTime(), live));
            } else {
                final int at = same.pop();
                sessions.set(at, new RecordedSession(name, sessions.get(at).opened(), event.getStartTime(), live));
            }
        }
        return sessions;
    }
}
