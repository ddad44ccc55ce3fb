package allocator.resource.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogFileTest {
    private Path file;

    @BeforeEach
    void choose(@TempDir Path folder) {
        file = folder.resolve("log.csv");
    }

    private static void write(LogFile log, String text, long position) throws IOException {
        log.write(text.getBytes(StandardCharsets.US_ASCII), text.length(), position);
    }

    @Test
    void bytesAreWrittenAtTheirPosition() throws IOException {
        Files.writeString(file, "what was there before");
        LogFile log = new LogFile(file);
        write(log, "one two", 0);
        write(log, "three", 4);
        log.truncate(7);
        log.close();
        log.close();
        assertThat(file).hasContent("one thr");
    }

    @Test
    void aTraceIsCompleteAfterItsClose() throws IOException {
        TraceLog log = TraceLog.to(file);
        log.allocated(0x1000, 100, null);
        log.flush();
        assertThat(file).hasContent("op,id,bytes,stream\na,0,100,0\n");
        log.freed(0x1000, 100, null);
        log.close();
        assertThat(file).hasContent("op,id,bytes,stream\na,0,100,0\nf,0,100,0\n");
    }

    @Nested
    class Interrupts {
        @Test
        void anInterruptStaysPendingAndCostsNoLine() throws IOException {
            LogFile log = new LogFile(file);
            Thread.currentThread().interrupt();
            write(log, "one", 0);
            log.truncate(2);
            assertThat(Thread.interrupted()).isTrue();
            write(log, "ly", 2);
            log.close();
            assertThat(file).hasContent("only");
        }

        @Test
        void anInterruptInTheMiddleOfAWriteCostsNoLine() throws Exception {
            TraceLog log = TraceLog.to(file);
            AtomicBoolean isDone = new AtomicBoolean();
            Thread writer = Thread.currentThread();
            Thread interrupter = Thread.ofPlatform().start(() -> {
                while (!isDone.get()) {
                    writer.interrupt();
                    Thread.onSpinWait();
                }
            });
            int lines = 5000;
            for (int i = 0; i < lines; i++) {
                log.allocated(1 + i, 100, null);
                log.flush();
            }
            isDone.set(true);
            while (interrupter.isAlive()) {
                Thread.onSpinWait();
            }
            assertThat(Thread.interrupted()).isTrue();
            log.close();
            assertThat(log.droppedRecords()).isZero();
            assertThat(Files.readAllLines(file)).hasSize(1 + lines).doesNotHaveDuplicates();
        }
    }
}
