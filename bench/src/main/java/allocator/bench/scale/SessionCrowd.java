package allocator.bench.scale;

import allocator.runtime.Environment;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import java.util.Objects;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Open sessions of one environment, each of which has run. */
final class SessionCrowd extends Crowd {
    private static final int BYTES = 8192;

    private final Environment environment;
    private final SessionOptions options;
    private final @Nullable Session[] sessions;
    private final SplittableRandom random = new SplittableRandom(3);

    SessionCrowd(Environment environment, SessionOptions options, int most) {
        this.environment = environment;
        this.options = options;
        sessions = new Session[most];
    }

    private static void run(Session session) {
        session.run(RunOptions.DEFAULT, run -> {
            final long address = run.allocator().allocOnStream(BYTES, run.stream(0));
            run.allocator().free(address);
        });
    }

    private Session open() {
        final Session session = environment.openSession(options);
        run(session);
        return session;
    }

    private Session session(int index) {
        return Objects.requireNonNull(sessions[index]);
    }

    @Override
    void add(int index) {
        sessions[index] = open();
    }

    @Override
    void use(int count) {
        run(session(random.nextInt(count)));
    }

    @Override
    void comeAndGo() {
        open().close();
    }

    @Override
    void remove(int index) {
        session(index).close();
        sessions[index] = null;
    }

    @Override
    public void close() {
        environment.close();
    }
}
