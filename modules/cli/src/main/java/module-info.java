import org.jspecify.annotations.NullMarked;

/** The {@code allocator} command. */
@NullMarked
module java.allocator.cli {
    requires com.fasterxml.jackson.core;
    requires info.picocli;
    requires java.allocator.conformance.runner;
    requires java.allocator.planner;
    requires java.allocator.resource;
    requires java.allocator.runtime;
    requires java.allocator.trace;
    requires java.allocator.view;
    requires static org.jspecify;

    opens allocator.cli to
            info.picocli;
}
