package allocator.onnxruntime;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxTensorLike;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.RunOptions;
import allocator.onnxruntime.BlockNames.Event;
import allocator.onnxruntime.MemoryProfile.Peak;
import allocator.onnxruntime.ProfileFile.Span;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Runs a session twice under ONNX Runtime's profiler, and names its blocks. */
final class SessionProfiler {
    private final OrtSession session;
    private final ExportedSession memory;
    private final BlockNames names;
    private final @Nullable RunOptions options;
    private final long start;
    private final LongSupplier clock;

    /** What was noted of a run, as {@link ProfiledRun} takes it; {@code isSteady} if no clock was set meanwhile. */
    private record Noted(List<Event> events, int ran, long begin, long end, boolean isSteady) {
        ProfiledRun join(List<Span> profile, List<Long> inputBytes, ProfiledRun... first) {
            return new ProfiledRun(
                    events,
                    ran,
                    begin,
                    end,
                    isSteady ? profile : List.of(),
                    inputBytes,
                    first.length == 0 ? null : first[0]);
        }
    }

    /**
     * @param names those of the session
     * @param options of its runs, {@code null} for none
     * @throws OrtException if ONNX Runtime fails
     */
    SessionProfiler(OrtSession session, ExportedSession memory, BlockNames names, @Nullable RunOptions options)
            throws OrtException {
        this.session = session;
        this.options = options;
        this.memory = memory;
        this.names = names;
        start = session.getProfilingStartTimeInNs();
        // The clock of C++'s high_resolution_clock: the time of day on Linux, elsewhere that of nanoTime.
        clock = Math.abs(timeOfDay() - start) < TimeUnit.DAYS.toNanos(1)
                ? SessionProfiler::timeOfDay
                : System::nanoTime;
    }

    private static long timeOfDay() {
        final Instant now = Instant.now();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
    }

    /**
     * Runs and joins.
     *
     * @throws OrtException if a run fails; another call tries again
     */
    MemoryProfile profile(Map<String, ? extends OnnxTensorLike> inputs) throws OrtException {
        final Map<ExportedAllocator, Long> used = new HashMap<>();
        final Noted firstNoted;
        final Noted noted;
        names.beginNotes(clock);
        try {
            firstNoted = run(inputs);
            memory.allocators().forEach(from -> used.put(from, from.budget().used()));
            noted = run(inputs);
        } finally {
            names.endNotes();
        }
        final List<Span> profile = readProfile();
        final List<Long> inputBytes = new ArrayList<>();
        for (final OnnxTensorLike input : inputs.values()) {
            if (input instanceof OnnxTensor tensor) {
                inputBytes.add(tensor.getInfo().getNumElements() * tensor.getInfo().type.size);
            }
        }
        final ProfiledRun first = firstNoted.join(profile, inputBytes);
        final ProfiledRun run = noted.join(profile, inputBytes, first);
        names.expect(run.expected());
        final List<Peak> peaks = new ArrayList<>();
        for (final ExportedAllocator from : memory.allocators()) {
            peaks.add(new Peak(
                    from.target().info(), run.peak(from, from.bytes(BlockNames.WEIGHTS), used.getOrDefault(from, 0L))));
        }
        return new MemoryProfile(peaks, run.allocations(), memory.elsewhere());
    }

    private Noted run(Map<String, ? extends OnnxTensorLike> inputs) throws OrtException {
        final long before = System.nanoTime(); // and again, as the thread may wait between two readings
        final long begin = clock.getAsLong();
        final long began = System.nanoTime();
        final OrtSession.Result result = session.run(inputs, session.getOutputNames(), options);
        final long least = System.nanoTime() - began;
        final long end = clock.getAsLong();
        final long most = System.nanoTime() - before;
        final List<Event> events = new ArrayList<>(names.takeNotes());
        final int ran = events.size();
        result.close();
        events.addAll(names.takeNotes());
        final long drift = TimeUnit.MILLISECONDS.toNanos(1) + most / 1000;
        return new Noted(events, ran, begin, end, least - drift < end - begin && end - begin < most + drift);
    }

    /** Ends ONNX Runtime's profiler, which a session has once. */
    private List<Span> readProfile() throws OrtException {
        names.endProfiler();
        try {
            return ProfileFile.read(Path.of(session.endProfiling()), start);
        } catch (IOException e) {
            throw new UncheckedIOException("ONNX Runtime's profile cannot be read", e);
        } finally {
            names.file().delete();
        }
    }
}
