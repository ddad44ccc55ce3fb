package allocator.bench.soak;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.bench.subject.MallocAllocator;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class SoakTest {
    private static final int LEAKED_BYTES = 1 << 18;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);

    @Test
    @Tag("thorough")
    void worksAndReportsEachSource() {
        final int status = Soak.execute(out, "--minutes=0.02", "--subjects=arena,arena-quick,arena-streams");
        assertThat(status).isIn(0, 1); // in a second nothing is flat for certain
        for (final Source source : Source.values()) {
            assertThat(bytes.toString(StandardCharsets.UTF_8)).contains(source + ": ");
        }
    }

    @Test
    @Tag("thorough")
    void aLeakIsReported() throws InterruptedException {
        final MallocAllocator malloc = new MallocAllocator();
        final List<Long> leaked = new ArrayList<>();
        final AtomicBoolean isOver = new AtomicBoolean();
        final Thread leak = new Thread(() -> {
            while (!isOver.get()) {
                leaked.add(touched(malloc.alloc(LEAKED_BYTES)));
                LockSupport.parkNanos(1_000_000);
            }
        });
        leak.start();
        try {
            assertThat(Soak.execute(out, "--minutes=0.03", "--subjects=arena")).isEqualTo(1);
        } finally {
            isOver.set(true);
            leak.join();
            leaked.forEach(malloc::free);
        }
        assertThat(bytes.toString(StandardCharsets.UTF_8)).containsPattern("resident: .* NOT FLAT");
    }

    @SuppressWarnings("restricted")
    private static long touched(long address) {
        MemorySegment.ofAddress(address).reinterpret(LEAKED_BYTES).fill((byte) 1);
        return address;
    }

    @Test
    void wrongOptionsAreErrors() {
        assertThat(Soak.execute(out, "--minutes=0")).isEqualTo(2);
        assertThat(Soak.execute(out, "--minutes=1", "--subjects=nosuch")).isEqualTo(2);
    }
}
