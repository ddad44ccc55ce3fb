package allocator.resource.log;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.resource.FakeResource;
import allocator.spi.OptionKey;
import allocator.testkit.FakeStream;
import java.io.IOException;
import java.io.StringWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class TraceLogTest {
    private final FakeResource addresses = new FakeResource(1000);

    @Test
    void aTraceIsWrittenAsItHappens() {
        StringWriter trace = new StringWriter();
        TraceLog log = new TraceLog(trace);
        LoggingResource logged = new LoggingResource(addresses, log);
        FakeStream stream = new FakeStream(addresses.memory());
        long before = addresses.allocate(10);
        long address = logged.allocate(100);
        logged.deallocate(logged.allocate(200, 8, stream), 200, 8, stream);
        logged.deallocate(address, 100);
        logged.deallocate(before, 10);
        assertThat(trace.toString()).isEqualTo("""
                op,id,bytes,stream
                a,0,100,0
                a,1,200,1
                f,1,200,1
                f,0,100,0
                """);
        assertThat(log.droppedRecords()).isEqualTo(1);
    }

    @Test
    void aReusedAddressIsANewBlockOfTheTrace() {
        StringWriter trace = new StringWriter();
        LoggingResource logged = new LoggingResource(addresses, new TraceLog(trace));
        for (int i = 0; i < 2; i++) {
            logged.deallocate(logged.allocate(100), 100);
        }
        assertThat(trace.toString().lines())
                .containsExactly("op,id,bytes,stream", "a,0,100,0", "f,0,100,0", "a,1,100,0", "f,1,100,0");
    }

    @Test
    @Timeout(60)
    void streamsThatEndedAreForgottenAndTheOthersKeepTheirNumbers() {
        final StringWriter trace = new StringWriter();
        final TraceLog log = new TraceLog(trace);
        final FakeStream kept = new FakeStream(addresses.memory());
        log.allocated(1, 1, kept);
        for (int i = 2; i <= 10_000; i++) {
            log.allocated(i, 1, new FakeStream(addresses.memory()));
        }
        while (log.streams() > 64) {
            System.gc();
            log.freed(1, 1, kept);
            log.allocated(1, 1, kept);
        }
        assertThat(trace.toString().lines().toList().getLast()).endsWith(",1,1");
    }

    @Nested
    class DroppedRecords {
        private final StringWriter trace = new StringWriter();
        private final TraceLog log = new TraceLog(trace);

        @ParameterizedTest
        @ValueSource(longs = {-1, Long.MIN_VALUE, OptionKey.MAX_SIZE + 1, Long.MAX_VALUE})
        void aBlockOfASizeThatNoTraceHasIsLeftOut(long byteSize) {
            log.allocated(0x1000, byteSize, null);
            log.freed(0x1000, byteSize, null);
            log.allocated(0x2000, OptionKey.MAX_SIZE, null);
            assertThat(trace.toString().lines())
                    .containsExactly("op,id,bytes,stream", "a,0," + OptionKey.MAX_SIZE + ",0");
            assertThat(log.droppedRecords()).isEqualTo(2);
        }

        @Test
        void aDeallocationHasTheSizeOfItsBlock() {
            log.allocated(0x1000, 100, null);
            log.freed(0x1000, Long.MAX_VALUE, null);
            assertThat(trace.toString().lines()).containsExactly("op,id,bytes,stream", "a,0,100,0", "f,0,100,0");
        }

        @Test
        void anEmptyAllocationIsLeftOut() {
            log.allocated(0, 0, null);
            log.freed(0, 0, null);
            assertThat(trace.toString()).isEqualTo("op,id,bytes,stream\n");
            assertThat(log.droppedRecords()).isZero();
        }
    }

    @Nested
    class FailingWriter {
        /** The next line to fail. */
        private @Nullable Throwable failure;

        private final StringWriter trace = new StringWriter() {
            @Override
            public void write(String text) {
                fail();
                super.write(text);
            }

            @Override
            public StringWriter append(CharSequence text) {
                fail();
                return super.append(text);
            }

            private void fail() {
                final Throwable thrown = failure;
                failure = null;
                if (thrown != null) {
                    throwAny(thrown);
                }
            }
        };

        private final TraceLog log = new TraceLog(trace);

        @SuppressWarnings("unchecked")
        private static <T extends Throwable> void throwAny(Throwable failure) throws T {
            throw (T) failure;
        }

        static List<Throwable> failures() {
            return List.of(
                    new IOException("planted"),
                    new IllegalStateException("planted"),
                    new OutOfMemoryError("planted"),
                    new StackOverflowError("planted"),
                    new AssertionError("planted"));
        }

        @ParameterizedTest
        @MethodSource("failures")
        void aBlockWhoseAllocationIsNotWrittenIsNotFreedInTheTrace(Throwable thrown) {
            failure = thrown;
            log.allocated(0x1000, 100, null);
            log.freed(0x1000, 100, null);
            log.allocated(0x1000, 200, null);
            log.freed(0x1000, 200, null);
            assertThat(trace.toString().lines()).containsExactly("op,id,bytes,stream", "a,1,200,0", "f,1,200,0");
            assertThat(log.droppedRecords()).isEqualTo(2);
        }

        @ParameterizedTest
        @MethodSource("failures")
        void aBlockWhoseDeallocationIsNotWrittenLivesToTheEndOfTheTrace(Throwable thrown) {
            log.allocated(0x1000, 100, null);
            failure = thrown;
            log.freed(0x1000, 100, null);
            log.allocated(0x1000, 200, null);
            assertThat(trace.toString().lines()).containsExactly("op,id,bytes,stream", "a,0,100,0", "a,1,200,0");
            assertThat(log.droppedRecords()).isEqualTo(1);
        }
    }
}
