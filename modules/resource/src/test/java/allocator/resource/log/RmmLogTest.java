package allocator.resource.log;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.FakeResource;
import allocator.resource.log.RmmLog.Action;
import allocator.resource.log.RmmLog.Entry;
import allocator.resource.log.RmmLog.Replay;
import allocator.spi.DeviceException;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class RmmLogTest {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(1, Action.ALLOCATE, 0xa0, 400, 0),
            new Entry(1, Action.ALLOCATE, 0xb0, 500, 9),
            new Entry(1, Action.ALLOCATE_FAILURE, 0, 999, 0),
            new Entry(1, Action.FREE, 0xf0, 1, 0),
            new Entry(1, Action.FREE, 0xa0, 400, 0),
            new Entry(1, Action.ALLOCATE, 0xa0, 300, 9));

    private final FakeResource addresses = new FakeResource(1000);

    @Test
    void aLogReadsBackAsWritten(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("log.csv");
        FakeStream stream = new FakeStream(addresses.memory());
        long first;
        long second;
        try (RmmLog log = RmmLog.to(file)) {
            LoggingResource logged = new LoggingResource(addresses, log);
            first = logged.allocate(100);
            second = logged.allocate(200, 8, stream);
            assertThatThrownBy(() -> logged.allocate(1000)).isInstanceOf(OutOfMemoryException.class);
            logged.deallocate(first, 100);
            logged.deallocate(second, 200, 8, stream);
            assertThat(log.droppedRecords()).isZero();
        }
        long thread = Thread.currentThread().threadId();
        assertThat(RmmLog.read(file))
                .containsExactly(
                        new Entry(thread, Action.ALLOCATE, first, 100, 0),
                        new Entry(thread, Action.ALLOCATE, second, 200, stream.handle()),
                        new Entry(thread, Action.ALLOCATE_FAILURE, 0, 1000, 0),
                        new Entry(thread, Action.FREE, first, 100, 0),
                        new Entry(thread, Action.FREE, second, 200, stream.handle()));
    }

    @Test
    void linesHaveTheFormatOfRmm() {
        StringWriter text = new StringWriter();
        LoggingResource logged = new LoggingResource(addresses, new RmmLog(text));
        logged.allocate(16);
        List<String> lines = text.toString().lines().toList();
        assertThat(lines.get(0)).isEqualTo("Thread,Time,Action,Pointer,Size,Stream");
        assertThat(lines.get(1)).matches("\\d+,\\d\\d:\\d\\d:\\d\\d\\.\\d{6},allocate,0x100000,16,0x0");
    }

    @Test
    void aLogOfAnotherProgramIsReadByItsColumns() throws IOException {
        String text = """
                Time,Thread,Action,Pointer,Size,Stream
                10:53:02.123456,7,allocate,0x7f0000000000,1024,0x2
                10:53:02.123457,7,allocate failure,(nil),99,0
                10:53:02.123458,8,free,0x7f0000000000,1024,0x2
                """;
        assertThat(RmmLog.read(new StringReader(text), "log"))
                .containsExactly(
                        new Entry(7, Action.ALLOCATE, 0x7f0000000000L, 1024, 2),
                        new Entry(7, Action.ALLOCATE_FAILURE, 0, 99, 0),
                        new Entry(8, Action.FREE, 0x7f0000000000L, 1024, 2));
    }

    @Test
    void aMalformedLineIsNamed() {
        assertMalformed("", "log:1: the header");
        assertMalformed("Thread,Time,Action\n", "log:1: there is no column Pointer");
        String header = "Thread,Time,Action,Pointer,Size,Stream\n";
        assertMalformed(header + "1,0,allocate,0x1\n", "log:2: 4 columns instead of 6");
        assertMalformed(header + "1,0,steal,0x1,1,0x0\n", "log:2: action 'steal' is unknown");
        assertMalformed(header + "\n1,0,free,0xZ,1,0x0\n", "log:3: pointer 'Z' is not a number");
        assertMalformed(header + "1,0,free,0x1,-1,0x0\n", "log:2: size -1 is negative");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aLogThatAProcessLeftIsReadAsFarAsItIsWhole(boolean isGzip, @TempDir Path folder) throws IOException {
        String header = "Thread,Time,Action,Pointer,Size,Stream\n";
        String line = "1,0,allocate,7f01,16,0x0\n";
        byte[] log = (header + line + "a warning, of the program\n" + header + line + "1,0,alloc").getBytes(UTF_8);
        if (isGzip) {
            ByteArrayOutputStream packed = new ByteArrayOutputStream();
            try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
                out.write(log);
            }
            log = Arrays.copyOf(packed.toByteArray(), packed.size() - 9);
        }
        Path file = Files.write(folder.resolve("log"), log);
        List<String> leftOut = new ArrayList<>();
        assertThat(RmmLog.read(file, leftOut::add))
                .containsExactly(
                        new Entry(1, Action.ALLOCATE, 0x7f01, 16, 0), new Entry(1, Action.ALLOCATE, 0x7f01, 16, 0));
        assertThat(leftOut)
                .startsWith(file + ":3: 2 columns instead of 6")
                .contains(file + ":6: 3 columns instead of 6");
        assertThat(leftOut.getLast()).contains(isGzip ? "cut off" : ":6: ");
    }

    @Test
    void upToAThousandLinesOfOtherTextBeforeTheHeaderAreLeftOut(@TempDir Path folder) throws IOException {
        String log = "Thread,Time,Action,Pointer,Size,Stream\n1,0,free,0x1,1,0x0\n";
        Path file = Files.writeString(folder.resolve("log"), "hello, starting\n".repeat(1000) + log);
        List<String> leftOut = new ArrayList<>();
        assertThat(RmmLog.read(file, leftOut::add)).containsExactly(new Entry(1, Action.FREE, 1, 1, 0));
        assertThat(leftOut).hasSize(1000).last().isEqualTo(file + ":1000: is before the header");
        Files.writeString(file, "hello, starting\n".repeat(1001) + log);
        assertThatThrownBy(() -> RmmLog.read(file, line -> {}))
                .hasMessage(file + ":1: the header Thread,Time,Action,Pointer,Size,Stream is missing");
    }

    @Test
    void aWrongValueWithinALogIsAnErrorHoweverItIsRead(@TempDir Path folder) throws IOException {
        String header = "Thread,Time,Action,Pointer,Size,Stream\n";
        Path file = Files.writeString(folder.resolve("log"), header + "1,0,steal,0x1,1,0x0\n1,0,free,0x1,1,0x0\n");
        assertThatThrownBy(() -> RmmLog.read(file, line -> {}))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(":2: action 'steal' is unknown");
    }

    private static void assertMalformed(String text, String message) {
        assertThatThrownBy(() -> RmmLog.read(new StringReader(text), "log"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
    }

    @ParameterizedTest
    @ValueSource(strings = {"\u0661\u0662", "+5", "\uff15", " 5", "5 ", "", "0x"})
    void aNumberHasAsciiDigitsOnly(String number) {
        String header = "Thread,Time,Action,Pointer,Size,Stream\n";
        assertMalformed(header + "1,0,free,0x1," + number + ",0x0\n", "log:2: size '" + number + "' is not a number");
        assertMalformed(header + "1,0,free,0x" + number + "g,1,0x0\n", "log:2: pointer '");
        assertMalformed(header + "1,0,free,0x1,1," + number + "\n", "log:2: stream '");
    }

    @Test
    void aHexadecimalNumberHasNoSign() {
        String header = "Thread,Time,Action,Pointer,Size,Stream\n";
        assertMalformed(header + "1,0,free,0x+5,1,0x0\n", "log:2: pointer '+5' is not a number");
        assertMalformed(header + "1,0,free,0x\u0661,1,0x0\n", "log:2: pointer '\u0661' is not a number");
    }

    @Test
    void aByteOrderMarkIsSkipped() throws IOException {
        String text = "\uFEFFThread,Time,Action,Pointer,Size,Stream\n1,0,free,0x1,1,0x0\n";
        assertThat(RmmLog.read(new StringReader(text), "log")).containsExactly(new Entry(1, Action.FREE, 1, 1, 0));
    }

    @Test
    void aMessageEscapesControlCharacters() {
        String header = "Thread,Time,Action,Pointer,Size,Stream\n";
        assertMalformed(header + "1,0,\u001b[2J,0x1,1,0x0\n", "log:2: action '\\u001b[2J' is unknown");
        assertMalformed("\u001b,Time\n", "in [\\u001b, Time]");
    }

    static List<Throwable> failures() {
        return List.of(
                new IOException("disk full"),
                new IllegalStateException("planted"),
                new OutOfMemoryError("planted"),
                new StackOverflowError("planted"));
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void throwAny(Throwable failure) throws T {
        throw (T) failure;
    }

    @ParameterizedTest
    @MethodSource("failures")
    void linesThatCannotBeWrittenAreCountedAndDoNotFailTheCall(Throwable failure) {
        RmmLog log = new RmmLog(new Writer() {
            private boolean hasHeader;

            @Override
            public void write(char[] text, int from, int length) {
                if (hasHeader) {
                    throwAny(failure);
                }
                hasHeader = text[from + length - 1] == '\n';
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        });
        LoggingResource logged = new LoggingResource(addresses, log);
        logged.deallocate(logged.allocate(100), 100);
        assertThat(log.droppedRecords()).isEqualTo(2);
        log.allocated(0x1000, 10, null);
        assertThat(log.droppedRecords()).isEqualTo(3);
    }

    @Test
    void aReplayHandlesReusedAddresses() {
        assertThat(RmmLog.replay(ENTRIES, addresses)).isEqualTo(new Replay(3, 1, 1, 1, 900, 800));
        assertThat(addresses.blocks()).isZero();
    }

    @Test
    void aReplayThatRunsOutOfMemoryCountsTheFailureAndContinues() {
        assertThat(RmmLog.replay(ENTRIES, new FakeResource(450))).isEqualTo(new Replay(2, 2, 1, 1, 400, 300));
    }

    @Test
    void aReplayUsesTheStreamsOfTheLog() {
        FakeStream stream = new FakeStream(addresses.memory());
        RmmLog.replay(ENTRIES, addresses, handle -> handle == 9 ? stream : null);
        assertThat(addresses.calls)
                .filteredOn(("on " + stream.handle())::equals)
                .hasSize(2);
    }

    @Test
    void aReplayedDeallocationIsOnItsStream() {
        FakeStream stream = new FakeStream(addresses.memory());
        List<Entry> entries =
                List.of(new Entry(1, Action.ALLOCATE, 0xa0, 400, 0), new Entry(1, Action.FREE, 0xa0, 400, 9));
        RmmLog.replay(entries, addresses, handle -> handle == 9 ? stream : null);
        assertThat(addresses.calls)
                .containsExactly("allocate 400 aligned 256", "on " + stream.handle(), "deallocate 400 aligned 256");
    }

    @Test
    void aLogBecomesATrace() throws IOException {
        StringWriter trace = new StringWriter();
        assertThat(RmmLog.writeTrace(ENTRIES, trace).allocations()).isEqualTo(3);
        assertThat(trace.toString()).isEqualTo("""
                op,id,bytes,stream
                a,0,400,0
                a,1,500,1
                f,0,400,0
                a,2,300,1
                """);
    }

    @Test
    void aSecondDeallocationIsNotInTheTrace() throws IOException {
        StringWriter trace = new StringWriter();
        Entry free = new Entry(1, Action.FREE, 0xa0, 400, 0);
        RmmLog.writeTrace(List.of(new Entry(1, Action.ALLOCATE, 0xa0, 400, 0), free, free), trace);
        assertThat(trace.toString().lines()).containsExactly("op,id,bytes,stream", "a,0,400,0", "f,0,400,0");
    }

    @Nested
    class AddressesAllocatedTwice {
        private final List<Entry> twice = List.of(
                new Entry(1, Action.ALLOCATE, 0xa0, 400, 0),
                new Entry(1, Action.ALLOCATE, 0xa0, 300, 9),
                new Entry(1, Action.FREE, 0xa0, 300, 9));

        @Test
        void aReplayDeallocatesTheEarlierBlock() {
            assertThat(RmmLog.replay(twice, addresses)).isEqualTo(new Replay(2, 0, 1, 0, 400, 0));
            assertThat(addresses.blocks()).isZero();
        }

        @Test
        void aTraceFreesTheEarlierBlock() throws IOException {
            StringWriter trace = new StringWriter();
            assertThat(RmmLog.writeTrace(twice, trace)).isEqualTo(new RmmLog.Conversion(2, 1, 1, 0, 0, 0));
            assertThat(trace.toString().lines())
                    .containsExactly("op,id,bytes,stream", "a,0,400,0", "f,0,400,1", "a,1,300,1", "f,1,300,1");
        }
    }

    /** Whatever a resource or the choice of a stream throws, a replay leaves no block behind. */
    @Nested
    class ReplaysThatFail {
        private final List<Entry> three = List.of(
                new Entry(1, Action.ALLOCATE, 0xa0, 100, 0),
                new Entry(1, Action.ALLOCATE, 0xb0, 200, 0),
                new Entry(1, Action.FREE, 0xa0, 100, 0),
                new Entry(1, Action.ALLOCATE, 0xa0, 300, 7));

        @Test
        void anErrorOfTheResourceEndsTheReplayWithoutALeak() {
            Error failure = new OutOfMemoryError("planted");
            FakeResource failing = new FakeResource(1000) {
                @Override
                public long allocate(long byteSize, long byteAlignment) {
                    if (byteSize == 300) {
                        throw failure;
                    }
                    return super.allocate(byteSize, byteAlignment);
                }
            };
            assertThatThrownBy(() -> RmmLog.replay(three, failing)).isSameAs(failure);
            assertThat(failing.blocks()).isZero();
        }

        @Test
        void aFailingChoiceOfAStreamEndsTheReplayWithoutALeak() {
            assertThatThrownBy(() -> RmmLog.replay(three, addresses, handle -> {
                        if (handle == 7) {
                            throw new IllegalStateException("no such stream");
                        }
                        return null;
                    }))
                    .hasMessage("no such stream");
            assertThat(addresses.blocks()).isZero();
        }

        @Test
        void aDeallocationThatIsRejectedIsTriedAgainAtTheEnd() {
            RuntimeException failure = new IllegalStateException("planted");
            FakeResource failing = new FakeResource(1000) {
                private int frees;

                @Override
                public void deallocate(long address, long byteSize, long byteAlignment) {
                    if (frees++ == 0) {
                        throw failure;
                    }
                    super.deallocate(address, byteSize, byteAlignment);
                }
            };
            assertThatThrownBy(() -> RmmLog.replay(three, failing)).isSameAs(failure);
            assertThat(failing.blocks()).isZero();
        }

        @Test
        void aBlockWhoseDeviceFailsInItsDeallocationIsDeallocatedAtTheEnd() {
            DeviceException failure = new DeviceException("planted", null);
            FakeResource failing = failingOnce(failure);
            assertThatThrownBy(() -> RmmLog.replay(three, failing)).isSameAs(failure);
            assertThat(failing.blocks()).isZero();
        }

        /** Returns a resource whose first deallocation throws. */
        private FakeResource failingOnce(RuntimeException failure) {
            FakeResource failing = new FakeResource(1000);
            return failing.before(call -> {
                if (call.equals("deallocate")) {
                    failing.before(later -> {});
                    throw failure;
                }
            });
        }

        @Test
        void aFailureAtTheEndDoesNotCostTheOtherBlocks() {
            List<Entry> live = three.subList(0, 2);
            RuntimeException failure = new IllegalStateException("planted");
            FakeResource failing = new FakeResource(1000) {
                private int frees;

                @Override
                public void deallocate(long address, long byteSize, long byteAlignment) {
                    if (frees++ == 0) {
                        throw failure;
                    }
                    super.deallocate(address, byteSize, byteAlignment);
                }
            };
            assertThatThrownBy(() -> RmmLog.replay(live, failing)).isSameAs(failure);
            assertThat(failing.blocks()).isEqualTo(1);
        }
    }

    @Nested
    class SizesOfATrace {
        @Test
        void aBlockLargerThanATraceCanSayIsRejectedBeforeAnythingIsWritten() {
            StringWriter trace = new StringWriter();
            List<Entry> entries = List.of(
                    new Entry(1, Action.ALLOCATE, 0xa0, 1, 0),
                    new Entry(1, Action.ALLOCATE, 0xb0, OptionKey.MAX_SIZE + 1, 0));
            assertThatThrownBy(() -> RmmLog.writeTrace(entries, trace))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("entry 1 allocates 9223372036854775553 bytes, a trace has sizes from 0 to "
                            + "9223372036854775552");
            assertThat(trace.toString()).isEmpty();
        }

        @Test
        void aFailedAllocationMayBeOfAnySize() throws IOException {
            StringWriter trace = new StringWriter();
            RmmLog.writeTrace(List.of(new Entry(1, Action.ALLOCATE_FAILURE, 0, Long.MAX_VALUE, 0)), trace);
            assertThat(trace.toString()).isEqualTo("op,id,bytes,stream\n");
        }

        @Test
        void aFreeHasTheSizeOfItsBlock() throws IOException {
            StringWriter trace = new StringWriter();
            RmmLog.writeTrace(
                    List.of(
                            new Entry(1, Action.ALLOCATE, 0xa0, 400, 0),
                            new Entry(1, Action.FREE, 0xa0, Long.MAX_VALUE, 0)),
                    trace);
            assertThat(trace.toString().lines()).containsExactly("op,id,bytes,stream", "a,0,400,0", "f,0,400,0");
        }
    }
}
