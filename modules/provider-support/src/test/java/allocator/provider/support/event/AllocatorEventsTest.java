package allocator.provider.support.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.lang.classfile.ClassFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import jdk.jfr.Configuration;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AllocatorEventsTest {
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Test", new MemoryLocation(DeviceType.GPU, 0, 3, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    @TempDir
    private Path folder;

    private static Configuration settings() throws Exception {
        try (Reader in = new InputStreamReader(
                Objects.requireNonNull(AllocatorEvents.class.getResourceAsStream("/java-allocator.jfc")),
                StandardCharsets.UTF_8)) {
            return Configuration.create(in);
        }
    }

    private static void emitAll(String owner) {
        AllocatorEvents.prepare();
        AllocatorEvents.sessionOpened(owner);
        AllocatorEvents.allocated(owner, MEMORY, 0x1000, 100, 7, true, "a (Add, scratch)");
        AllocatorEvents.growing(MEMORY, DevicePart.REGION, 1 << 20).end(true, 0x1000);
        AllocatorEvents.mapping(MEMORY, 1 << 21, true).end(true, 0x2000);
        final DeviceCall shrinking = AllocatorEvents.shrinking(MEMORY, DevicePart.POOL, 0);
        shrinking.measured(4096);
        shrinking.end(false, 0);
        AllocatorEvents.sleeping(owner, MEMORY, 1 << 22, true).end(true, 0);
        AllocatorEvents.freeing(owner, MEMORY, 0x1000);
        AllocatorEvents.failed(
                owner, 5000, new OutOfMemoryException("none left", Shortage.ofDevice(MEMORY, 5000, 12)), "a dump");
        AllocatorEvents.sessionClosed(owner, () -> 2);
    }

    /** One that fails, as at the end of a stack, would make every later call fail. */
    @Test
    void theDoorHasNoStaticInitializer() throws IOException {
        try (InputStream in =
                Objects.requireNonNull(AllocatorEvents.class.getResourceAsStream("AllocatorEvents.class"))) {
            assertThat(ClassFile.of().parse(in.readAllBytes()).methods())
                    .extracting(method -> method.methodName().stringValue())
                    .contains("prepare")
                    .doesNotContain("<clinit>");
        }
    }

    private List<RecordedEvent> record(Map<String, String> settings, String owner) throws IOException {
        final Path file = folder.resolve(owner + ".jfr");
        try (Recording recording = new Recording(settings)) {
            recording.start();
            emitAll(owner);
            recording.stop();
            recording.dump(file);
        }
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().startsWith("allocator."))
                .toList();
    }

    @Test
    void ourSettingsRecordAllButBlocksAndShortMappings() throws Exception {
        assertThat(record(settings().getSettings(), "rare"))
                .extracting(event -> event.getEventType().getName())
                .containsExactlyInAnyOrder(
                        "allocator.SessionOpen",
                        "allocator.Growth",
                        "allocator.Shrink",
                        "allocator.SessionSleep",
                        "allocator.Failure",
                        "allocator.SessionClose");
    }

    @Test
    void ourSettingsEnableNoEventOfOthers() throws Exception {
        emitAll("registers the events");
        try (Recording recording = new Recording(settings())) {
            recording.start();
            assertThat(FlightRecorder.getFlightRecorder().getEventTypes())
                    .filteredOn(EventType::isEnabled)
                    .extracting(EventType::getName)
                    .isNotEmpty()
                    .allSatisfy(name -> assertThat(name).startsWith("allocator."));
        }
    }

    @Test
    void otherRecordingsHaveFailuresAlone() throws IOException {
        assertThat(record(Map.of(), "other"))
                .extracting(event -> event.getEventType().getName())
                .containsExactly("allocator.Failure");
    }

    @Test
    void everyFieldArrives() throws Exception {
        final Map<String, String> all = new HashMap<>();
        List.of("Allocation", "Free", "Growth", "Shrink", "Mapping", "SessionOpen", "SessionSleep", "SessionClose")
                .forEach(name -> all.put("allocator." + name + "#enabled", "true"));
        final Map<String, RecordedEvent> byName = new HashMap<>();
        record(all, "fields").forEach(event -> byName.put(event.getEventType().getName(), event));

        final RecordedEvent allocation = Objects.requireNonNull(byName.get("allocator.Allocation"));
        assertThat(allocation.getString("owner")).isEqualTo("fields");
        assertThat(allocation.getString("memory")).isEqualTo("Test");
        assertThat(allocation.getString("device")).isEqualTo("gpu:3");
        assertThat(allocation.getLong("address")).isEqualTo(0x1000);
        assertThat(allocation.getLong("byteSize")).isEqualTo(100);
        assertThat(allocation.getLong("stream")).isEqualTo(7);
        assertThat(allocation.getBoolean("isReserve")).isTrue();
        assertThat(allocation.getString("name")).isEqualTo("a (Add, scratch)");
        assertThat(allocation.getEventType().getCategoryNames()).containsExactly("Java Allocator");
        final RecordedEvent free = Objects.requireNonNull(byName.get("allocator.Free"));
        assertThat(free.getLong("address")).isEqualTo(0x1000);
        final RecordedEvent growth = Objects.requireNonNull(byName.get("allocator.Growth"));
        assertThat(growth.getString("part")).isEqualTo("region");
        assertThat(growth.getLong("byteSize")).isEqualTo(1 << 20);
        assertThat(growth.getBoolean("isSuccess")).isTrue();
        assertThat(growth.getDuration().toNanos()).isPositive();
        final RecordedEvent shrink = Objects.requireNonNull(byName.get("allocator.Shrink"));
        assertThat(shrink.getLong("byteSize")).isEqualTo(4096);
        assertThat(shrink.getBoolean("isSuccess")).isFalse();
        assertThat(shrink.getString("part")).isEqualTo("pool");
        assertThat(byName).containsKey("allocator.Mapping");
        final RecordedEvent sleep = Objects.requireNonNull(byName.get("allocator.SessionSleep"));
        assertThat(sleep.getString("owner")).isEqualTo("fields");
        assertThat(sleep.getString("device")).isEqualTo("gpu:3");
        assertThat(sleep.getLong("byteSize")).isEqualTo(1 << 22);
        assertThat(sleep.getBoolean("isSleep")).isTrue();
        final RecordedEvent failure = Objects.requireNonNull(byName.get("allocator.Failure"));
        assertThat(failure.getString("reason")).contains("none left");
        assertThat(failure.getString("detail")).isEqualTo("a dump");
        assertThat(failure.getLong("requested")).isEqualTo(5000);
        assertThat(failure.getLong("deviceFree")).isEqualTo(12);
        assertThat(failure.getLong("inUse")).isEqualTo(OutOfMemoryException.UNKNOWN);
        assertThat(Objects.requireNonNull(byName.get("allocator.SessionClose")).getLong("liveBlocks"))
                .isEqualTo(2);
    }

    @Test
    void withoutARecordingNothingIsAsked() {
        assertThat(AllocatorEvents.recordsAllocations()).isFalse();
        assertThat(AllocatorEvents.recordsFrees()).isFalse();
        assertThat(AllocatorEvents.growing(MEMORY, DevicePart.REGION, 1)).isSameAs(DeviceCall.NOT_RECORDED);
        assertThat(AllocatorEvents.sleeping("session", MEMORY, 1, false)).isSameAs(DeviceCall.NOT_RECORDED);
        assertThatCode(() -> AllocatorEvents.sessionClosed("session", () -> {
                    throw new IllegalStateException("counted although nothing is recorded");
                }))
                .doesNotThrowAnyException();
    }

    @Test
    void aRuntimeImageWithoutTheRecorderWorks() throws Exception {
        final Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--limit-modules",
                        "java.base",
                        "-cp",
                        location(AllocatorEvents.class)
                                + System.getProperty("path.separator")
                                + location(MemoryInfo.class)
                                + System.getProperty("path.separator")
                                + location(AllocatorEventsTest.class),
                        WithoutRecorder.class.getName())
                .redirectErrorStream(true)
                .start();
        assertThat(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .isEqualTo("no recorder, and nothing has failed\n");
        assertThat(process.waitFor()).isZero();
    }

    private static String location(Class<?> type) throws Exception {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI())
                .toString();
    }
}
