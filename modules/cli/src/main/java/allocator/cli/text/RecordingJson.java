package allocator.cli.text;

import allocator.cli.output.Json;
import allocator.view.recording.RecordedSession;
import allocator.view.recording.Recording;

/** What a recording shows, as JSON. Names of fields are stable. */
public final class RecordingJson {
    private RecordingJson() {}

    /** {@return the JSON} */
    public static String of(Recording recording) {
        return Json.text(new Json()
                .put("allocations", recording.allocations())
                .put("frees", recording.frees())
                .put("losses", recording.losses())
                .put("peak_requested", recording.profile().peakRequested())
                .put("peak_held", recording.profile().peakHeld())
                .put(
                        "device_calls",
                        recording.calls(),
                        calls -> new Json()
                                .put("memory", calls.memory().name())
                                .put("device", calls.memory().device())
                                .put("operation", calls.operation())
                                .put("part", calls.part())
                                .put("calls", calls.calls())
                                .put("failed", calls.failed())
                                .put("bytes", calls.bytes())
                                .put("total_nanos", calls.total().toNanos())
                                .put("longest_nanos", calls.longest().toNanos()))
                .put(
                        "failures",
                        recording.failures(),
                        failure -> new Json()
                                .put("at", failure.at().toString())
                                .put("owner", failure.failure().owner())
                                .put("memory", failure.memory().name())
                                .put("device", failure.memory().device())
                                .put("requested", failure.failure().requested())
                                .put("reason", failure.failure().reason())
                                .put("stack", failure.failure().stack()))
                .put("sessions", recording.sessions(), RecordingJson::session));
    }

    private static Json session(RecordedSession session) {
        final Json json = new Json().put("name", session.name());
        if (session.opened() != null) {
            json.put("opened_at", session.opened().toString());
        }
        if (session.closed() != null) {
            json.put("closed_at", session.closed().toString()).put("live_blocks", session.liveBlocks());
        }
        return json;
    }
}
