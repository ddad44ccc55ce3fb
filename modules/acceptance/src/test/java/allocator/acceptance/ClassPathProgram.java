package allocator.acceptance;

import allocator.runtime.Environment;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.ProviderReport;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;

/**
 * A program without modules: shows what is found, and uses memory of the host. Arguments name what may load, and the
 * property {@code folder} a folder that is searched as well.
 */
public final class ClassPathProgram {
    private ClassPathProgram() {}

    /** Runs it. */
    public static void main(String[] args) {
        final EnvironmentBuilder builder = Environment.builder();
        if (args.length > 0) {
            builder.allowModules(args);
        }
        if (System.getProperty("folder") != null) {
            builder.providersFrom(Path.of(System.getProperty("folder")));
        }
        try (Environment environment = builder.build();
                Session session = environment.openSession(
                        SessionOptions.builder().provider("cpu-reference").build())) {
            environment.providers().forEach(ClassPathProgram::show);
            final ManagedAllocator allocator = session.allocator();
            final long address = allocator.alloc(1000);
            final MemorySegment segment = allocator.segment(address, 1000);
            segment.set(ValueLayout.JAVA_FLOAT, 0, 1.5f);
            final float read = segment.get(ValueLayout.JAVA_FLOAT, 0);
            allocator.free(address);
            System.out.println("module " + ClassPathProgram.class.getModule().getName());
            System.out.println(read + ", then " + session.liveBlocks() + " live blocks");
        }
    }

    private static void show(ProviderReport report) {
        System.out.println(report.name()
                + report.failure()
                        .map(why -> " failed: " + why)
                        .orElse(" of " + report.origin() + ": "
                                + report.devices().size() + " devices"));
    }
}
