package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThatCode;

import allocator.spi.ShrinkReport;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The samples of the README and of the module's page, run on the provider that every installation has. */
class GettingStartedTest {
    @Test
    void theSampleOfTheModulePageRuns() {
        assertThatCode(GettingStartedTest::sample).doesNotThrowAnyException();
    }

    @Test
    void theFirstProgramOfTheReadmeRuns() {
        assertThatCode(GettingStartedTest::first).doesNotThrowAnyException();
    }

    private static void first() {
        try (Environment environment = Environment.create();
                Session session = environment.openSession("cpu-reference", Map.of("arena.max_mem", "64m"));
                Arena arena = session.newArena()) { // java.lang.foreign.Arena
            arena.allocate(100_000).set(ValueLayout.JAVA_FLOAT, 0, 1.5f);
        }
    }

    private static void sample() {
        final EnvironmentBuilder builder =
                Environment.builder().option("ep_factory.cpu-reference.arena.max_mem", "1073741824");
        try (Environment environment = builder.build()) {
            final SessionOptions options = SessionOptions.builder()
                    .name("bert")
                    .provider("cpu-reference")
                    .option("ep.cpu-reference.arena.initial_chunk_size_bytes", "65536")
                    .build();
            try (Session session = environment.openSession(options)) {
                session.run(RunOptions.builder().shrink("cpu:0").build(), run -> {
                    final ManagedAllocator allocator = run.allocator();
                    final long tensor =
                            run.hasStreams() ? allocator.allocOnStream(1024, run.stream(0)) : allocator.alloc(1024);
                    allocator.segment(tensor, 1024).set(ValueLayout.JAVA_FLOAT, 0, 1.5f);
                    allocator.free(tensor);
                });
                final ShrinkReport shrunk =
                        session.shrink(session.allocator().info().location());
                System.out.println(shrunk.bytesHeld() + " bytes stay; " + session.report());
            }
        }
    }
}
