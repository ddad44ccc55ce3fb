package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cpu.reference.CpuReferenceFactory;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sessions at a scale at which a cost that grows with their number would show. */
class ManySessionsTest {
    private static final int SESSIONS = 10_000;

    private final CpuReferenceFactory factory = new CpuReferenceFactory();
    private final Environment environment = Environments.empty();

    @Tag("thorough")
    @Test
    @Timeout(30)
    void tenThousandAreOpenedUsedAndClosed() {
        openUseAndClose(false);
    }

    @Test
    @Tag("thorough")
    @Timeout(30)
    void tenThousandWithArenasOfTheirOwnAreOpenedUsedAndClosed() {
        openUseAndClose(true);
    }

    private void openUseAndClose(boolean haveOwnArenas) {
        environment.register(factory);
        final List<Session> sessions = new ArrayList<>();
        final SessionOptions.Builder options = SessionOptions.builder().provider("cpu-reference");
        if (haveOwnArenas) {
            options.option("ep.cpu-reference.arena.initial_chunk_size_bytes", "4096");
        }
        for (int i = 0; i < SESSIONS; i++) {
            sessions.add(environment.openSession(options.build()));
        }
        final List<Long> blocks = new ArrayList<>();
        for (final Session session : sessions) {
            session.run(RunOptions.DEFAULT, run -> {
                final SyncStream stream = run.stream(0);
                blocks.add(run.allocator().allocOnStream(1000, stream));
                run.allocator().free(run.allocator().allocOnStream(1000, stream));
            });
        }
        // Half of them wait for their last block while the others are closed.
        for (int i = 0; i < SESSIONS; i += 2) {
            sessions.get(i).close();
        }
        for (int i = 1; i < SESSIONS; i += 2) {
            sessions.get(i).allocator().free(blocks.get(i));
            sessions.get(i).close();
        }
        for (int i = 0; i < SESSIONS; i += 2) {
            sessions.get(i).allocator().free(blocks.get(i));
        }
        assertThat(environment.sharedAllocators().getFirst().stats().bytesInUse())
                .isZero();
        environment.close();
        assertThat(environment.providers()).isEmpty();
    }
}
