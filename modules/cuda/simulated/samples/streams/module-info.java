/** A user's own tests, with published jars only. */
open module com.example.streams {
    requires java.allocator.cuda.resource;
    requires java.allocator.cuda.simulated;
    requires java.allocator.runtime;
    requires org.junit.jupiter.api;
    requires org.junit.platform.launcher;
}
