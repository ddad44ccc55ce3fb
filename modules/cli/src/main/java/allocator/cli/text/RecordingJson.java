package allocator.cli.text;

import allocator.cli.output.Json;
import allocator.view.recording.RecordedCalls;
import allocator.view.recording.RecordedFailure;
import allocator.view.recording.RecordedSession;
import allocator.view.recording.Recording;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;

/** What a recording shows, as JSON. Names of fields are stable. */
public final class RecordingJson {
    private RecordingJson() {}

    /**
     * Writes it.
     *
     * @param recording the recording
     * @return the JSON
     */
    public static String of(Recording recording) {
        return Json.write(json -> {
            json.writeStartObject();
            json.writeNumberField("allocations", recording.allocations());
            json.writeNumberField("frees", recording.frees());
            json.writeNumberField("losses", recording.losses());
            json.writeNumberField("peak_requested", recording.profile().peakRequested());
            json.writeNumberField("peak_held", recording.profile().peakHeld());
            json.writeArrayFieldStart("device_calls");
            for (final RecordedCalls calls : recording.calls()) {
                write(json, calls);
            }
            json.writeEndArray();
            json.writeArrayFieldStart("failures");
            for (final RecordedFailure failure : recording.failures()) {
                write(json, failure);
            }
            json.writeEndArray();
            json.writeArrayFieldStart("sessions");
            for (final RecordedSession session : recording.sessions()) {
                write(json, session);
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }

    private static void write(JsonGenerator json, RecordedCalls calls) throws IOException {
        json.writeStartObject();
        json.writeStringField("memory", calls.memory().name());
        json.writeStringField("device", calls.memory().device());
        json.writeStringField("operation", calls.operation());
        json.writeStringField("part", calls.part());
        json.writeNumberField("calls", calls.calls());
        json.writeNumberField("failed", calls.failed());
        json.writeNumberField("bytes", calls.bytes());
        json.writeNumberField("total_nanos", calls.total().toNanos());
        json.writeNumberField("longest_nanos", calls.longest().toNanos());
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, RecordedFailure failure) throws IOException {
        json.writeStartObject();
        json.writeStringField("at", failure.at().toString());
        json.writeStringField("owner", failure.owner());
        json.writeStringField("memory", failure.memory().name());
        json.writeStringField("device", failure.memory().device());
        json.writeNumberField("requested", failure.requested());
        json.writeStringField("reason", failure.reason());
        json.writeArrayFieldStart("stack");
        for (final String frame : failure.stack()) {
            json.writeString(frame);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, RecordedSession session) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", session.name());
        if (session.opened() != null) {
            json.writeStringField("opened_at", session.opened().toString());
        }
        if (session.closed() != null) {
            json.writeStringField("closed_at", session.closed().toString());
            json.writeNumberField("live_blocks", session.liveBlocks());
        }
        json.writeEndObject();
    }
}
