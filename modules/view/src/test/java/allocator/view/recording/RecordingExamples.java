package allocator.view.recording;

import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.nio.file.Path;
import jdk.jfr.Event;
import jdk.jfr.MetadataDefinition;
import jdk.jfr.Name;
import jdk.jfr.Recording;

/** Makes recordings without this project's events: a program, as events stay registered in their JVM. */
public final class RecordingExamples {
    private RecordingExamples() {}

    @Name("other.Event")
    static final class Other extends Event {}

    /** As the events of a later version of this project. */
    @Name("allocator.Growth")
    @SchemaVersion(2)
    static final class Later extends Event {}

    @MetadataDefinition
    @Retention(RetentionPolicy.RUNTIME)
    @interface SchemaVersion {
        int value();
    }

    /**
     * Writes a recording.
     *
     * @param arguments {@code foreign} or {@code later}, and the file
     */
    public static void main(String[] arguments) throws IOException {
        try (Recording recording = new Recording()) {
            recording.enable("other.Event");
            recording.enable("allocator.Growth");
            recording.start();
            if (arguments[0].equals("later")) {
                new Later().commit();
            } else {
                new Other().commit();
            }
            recording.stop();
            recording.dump(Path.of(arguments[1]));
        }
    }
}
