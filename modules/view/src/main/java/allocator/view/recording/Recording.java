package allocator.view.recording;

import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.trace.TraceWriter;
import allocator.view.Timeline;
import allocator.view.TraceProfile;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/**
 * The events of this project in a recording of the JDK Flight Recorder. Events of other kinds are ignored, and so are
 * those of ours that a later version may have added.
 */
public final class Recording {
    private final List<BlockEvent> blocks;
    private final List<RecordedCalls> calls;
    private final List<RecordedSession> sessions;
    private final List<RecordedFailure> failures;
    private final long lost;
    private final long allocations;
    private final RecordedProfile profile;

    private Recording(RecordingReader reader) {
        blocks = List.copyOf(reader.blocks);
        calls = reader.calls();
        sessions = List.copyOf(reader.sessions());
        failures = List.copyOf(reader.failures);
        lost = reader.lost;
        allocations = blocks.stream().filter(block -> !block.isFree()).count();
        profile = RecordedProfile.of(blocks, reader.held, failures.size());
    }

    /**
     * {@return whether a file begins as a recording does; {@code false} if it cannot be read}
     *
     * @param file the file
     */
    public static boolean looksLikeOne(Path file) {
        try (var in = Files.newInputStream(file)) {
            int magic = 0;
            for (final byte each : in.readNBytes(Integer.BYTES)) {
                magic = (magic << Byte.SIZE) | (each & 0xff);
            }
            return magic == RecordingChunks.MAGIC;
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * {@return the events of a recording}
     *
     * @param file the file
     * @throws RecordingException if the file cannot be read, is not a recording, is truncated or damaged, has no events
     *     of this project, or was written by a version that this one does not know
     */
    public static Recording read(Path file) throws RecordingException {
        try {
            return new Recording(RecordingReader.read(file));
        } catch (RecordingException e) {
            throw e;
        } catch (NoSuchFileException | FileNotFoundException e) {
            throw new RecordingException(
                    file.toString(), Files.exists(file) ? "cannot be opened: " + e.getMessage() : "no such file", e);
        } catch (AccessDeniedException e) {
            throw new RecordingException(file.toString(), "permission denied", e);
        } catch (EOFException e) {
            throw new RecordingException(file.toString(), "is truncated", e);
        } catch (IOException e) {
            throw new RecordingException(file.toString(), "cannot be read: " + e.getMessage(), e);
        } catch (OutOfMemoryError e) {
            throw new RecordingException(
                    file.toString(),
                    "needs more Java heap than the " + (Runtime.getRuntime().maxMemory() >> 20)
                            + " MiB that there are: start java with a larger -Xmx",
                    e);
        } catch (RuntimeException | Error e) {
            // What the JDK's reader throws where bytes are wrong: it trusts them.
            throw new RecordingException(
                    file.toString(),
                    "is damaged: "
                            + (e instanceof IllegalArgumentException && e.getMessage() != null
                                    ? e.getMessage()
                                    : "its events cannot be read")
                            + "; copy it again, or dump it again with jcmd PID JFR.dump",
                    e);
        }
    }

    /** {@return the number of allocations; {@code 0} also if the recording did not ask for them} */
    public long allocations() {
        return allocations;
    }

    /** {@return the number of frees; {@code 0} also if the recording did not ask for them} */
    public long frees() {
        return blocks.size() - allocations;
    }

    /** {@return how many times the recorder reports that it has lost events} */
    public long losses() {
        return lost;
    }

    /** {@return the calls of devices, summed up, in order of appearance} */
    public List<RecordedCalls> calls() {
        return calls;
    }

    /** {@return the sessions that were opened or closed, in order of appearance} */
    public List<RecordedSession> sessions() {
        return sessions;
    }

    /** {@return the requests that failed, in order of time} */
    public List<RecordedFailure> failures() {
        return failures;
    }

    /**
     * {@return the profile of what was requested and held over the events, with as many points as a profile of a trace
     * at most; without any if there are no events} What was held before the recording is not known: it counts as far as
     * it must have been.
     */
    public TraceProfile profile() {
        return profile.profile();
    }

    /** {@return the blocks live at the peak of bytes requested: a state for each memory, without regions, if any} */
    public List<AllocatorState> liveAtPeak() {
        return RecordedStates.at(blocks, profile.peakBlock());
    }

    /** {@return the blocks that are live at the end: one state for each memory, without regions; empty if none is} */
    public List<AllocatorState> liveAtEnd() {
        return RecordedStates.at(blocks, blocks.size() - 1);
    }

    /** {@return what a page shows: the profile, what was live at the peak and at the end, and the latest failure} */
    public Timeline timeline() {
        final List<Timeline.Moment> moments = new ArrayList<>();
        liveAtPeak()
                .forEach(state ->
                        moments.add(new Timeline.Moment("peak, " + state.memory(), profile.peakEvent(), state)));
        final int last = profile.profile().events() - 1;
        liveAtEnd().forEach(state -> moments.add(new Timeline.Moment("end, " + state.memory(), last, state)));
        final String subtitle = String.format(
                Locale.ROOT,
                "Recording: %,d allocation%s, %,d free%s, %,d failed request%s",
                allocations,
                plural(allocations),
                frees(),
                plural(frees()),
                failures.size(),
                plural(failures.size()));
        return new Timeline(
                subtitle, failures.isEmpty() ? null : failures.getLast().asSnapshot(), profile(), moments);
    }

    private static String plural(long count) {
        return count == 1 ? "" : "s";
    }

    /**
     * Writes allocations and frees as a trace. Streams are numbered from 1 in order of appearance, and 0 stands for
     * none.
     *
     * @param writer receives the events; the caller closes it
     * @return what was written
     * @throws IOException if that fails
     * @throws IllegalArgumentException if an allocation has a size that no trace has
     */
    public TraceConversion writeTo(TraceWriter writer) throws IOException {
        final IdentityHashMap<BlockEvent, Long> ids = new IdentityHashMap<>();
        final Map<String, Integer> streams = new HashMap<>();
        final LiveRecorded live = new LiveRecorded();
        long nextId = 0;
        long reserves = 0;
        long frees = 0;
        long added = 0;
        long unknown = 0;
        for (final BlockEvent event : blocks) {
            final BlockEvent ended = live.apply(event);
            if (ended != null) {
                writer.free(Objects.requireNonNull(ids.remove(ended)), ended.byteSize(), stream(ended, streams));
                frees += event.isFree() ? 1 : 0;
                added += event.isFree() ? 0 : 1;
            } else if (event.isFree()) {
                unknown++;
            }
            if (!event.isFree()) {
                ids.put(event, nextId);
                if (event.isReserve()) {
                    reserves++;
                    writer.reserve(nextId, event.byteSize());
                } else {
                    writer.allocation(nextId, event.byteSize(), stream(event, streams));
                }
                nextId++;
            }
        }
        return new TraceConversion(nextId, reserves, frees, added, unknown);
    }

    private static int stream(BlockEvent event, Map<String, Integer> streams) {
        return event.stream() == 0
                ? 0
                : streams.computeIfAbsent(event.memory().device() + "\n" + event.stream(), _ -> streams.size() + 1);
    }
}
