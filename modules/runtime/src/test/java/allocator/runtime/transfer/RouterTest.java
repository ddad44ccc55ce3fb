package allocator.runtime.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.spi.DataTransfer;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.FakeMemory;
import allocator.testkit.FakeStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RouterTest {
    private static final int PIECE = (int) Pipeline.PIECE_BYTES;

    /** What the next frees of pinned memory throw. */
    private final Deque<RuntimeException> freeFailures = new ArrayDeque<>();

    /** The ends of streams that were not waited for. */
    private final List<Runnable> discarded = new ArrayList<>();

    private static final int DEVICE_BYTES = 4 * PIECE;
    private static final long BASE = 0x1000;

    private final FakeDevice left = new FakeDevice(0);
    private final FakeDevice right = new FakeDevice(1);
    private final Pinned pinned = new Pinned();
    private final List<String> events = new ArrayList<>();

    /** Fails the copy with this number, from 0. */
    private int failing = -1;

    private int copies;

    private final Router router = new Router(List.of(left.transfer(), right.transfer()), List.of(pinned), this::lend);

    /** Memory of a device, which begins at {@link #BASE} and which only its provider reaches. */
    private final class FakeDevice implements DataTransfer {
        final MemoryInfo memory;
        final byte[] bytes = new byte[DEVICE_BYTES];
        final QueueStream stream;

        FakeDevice(int ordinal) {
            memory = FakeMemory.memory("Device" + ordinal, DeviceType.GPU, ordinal, MemoryType.DEFAULT);
            stream = new QueueStream(memory);
            new SplittableRandom(ordinal).nextBytes(bytes);
        }

        ProviderTransfer transfer() {
            return new ProviderTransfer(memory.name(), this, memory::isSameMemoryAs);
        }

        MemoryRange range(long offset, long byteSize) {
            return new MemoryRange(memory, BASE + offset, byteSize);
        }

        @Override
        public boolean canCopy(MemoryInfo source, MemoryInfo target) {
            return (source.equals(memory) && target.equals(pinned.info()))
                    || (source.equals(pinned.info()) && target.equals(memory));
        }

        @Override
        public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream given) {
            if (copies++ == failing) {
                throw new DeviceException("planned", null);
            }
            final Runnable work = () -> segment(target).copyFrom(segment(source));
            events.add((source.memory().equals(memory) ? "from " : "to ") + memory.name());
            if (given == null) {
                work.run();
            } else {
                ((QueueStream) given).queue.add(work);
            }
        }

        private MemorySegment segment(MemoryRange range) {
            return range.memory().equals(memory)
                    ? MemorySegment.ofArray(bytes).asSlice(range.address() - BASE, range.byteSize())
                    : pinned.segment(range.address()).asSlice(0, range.byteSize());
        }
    }

    /** A stream that works only when it is flushed. */
    private final class QueueStream extends FakeStream {
        final Deque<Runnable> queue = new ArrayDeque<>();
        boolean isLent;

        QueueStream(MemoryInfo memory) {
            super(memory);
        }

        @Override
        public void flush() {
            super.flush();
            events.add("flush " + memory().name() + " " + queue.size());
            queue.forEach(Runnable::run);
            queue.clear();
        }
    }

    /** Memory of the host that both devices reach. */
    private final class Pinned implements StagingMemory {
        private final MemoryInfo info = FakeMemory.memory("Pinned", DeviceType.GPU, 0, MemoryType.HOST_ACCESSIBLE);
        private final Map<Long, MemorySegment> live = new HashMap<>();
        private final Arena arena = Arena.ofAuto();

        MemorySegment segment(long address) {
            return Optional.ofNullable(live.get(address)).orElseThrow();
        }

        @Override
        public MemoryInfo info() {
            return info;
        }

        @Override
        public Buffer allocate(long byteSize) {
            final MemorySegment segment = arena.allocate(byteSize);
            live.put(segment.address(), segment);
            return new Buffer(info, segment, () -> {
                final RuntimeException failure = freeFailures.poll();
                if (failure == null || failure instanceof DeviceException) {
                    live.remove(segment.address());
                }
                if (failure != null) {
                    throw failure;
                }
            });
        }
    }

    private Optional<LentStream> lend(MemoryInfo memory) {
        final QueueStream stream = memory.equals(left.memory) ? left.stream : right.stream;
        return Optional.of(new LentStream() {
            @Override
            public SyncStream take() {
                stream.isLent = true;
                return stream;
            }

            @Override
            public void giveBack() {
                assertThat(stream.queue).isEmpty();
                stream.isLent = false;
            }

            @Override
            public void discard(Runnable afterEnd) {
                stream.close();
                discarded.add(() -> {
                    stream.queue.forEach(Runnable::run);
                    stream.queue.clear();
                    stream.isLent = false;
                    afterEnd.run();
                });
            }
        });
    }

    private void expectNothingLeft() {
        assertThat(pinned.live).isEmpty();
        assertThat(left.stream.isLent).isFalse();
        assertThat(right.stream.isLent).isFalse();
    }

    private static MemorySegment slice(byte[] bytes, long offset, long byteSize) {
        return MemorySegment.ofArray(bytes).asSlice(offset, byteSize);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 100, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 7})
    void bytesGoThroughTheHostInPieces(int byteSize) {
        final byte[] untouched = right.bytes.clone();

        router.copy(left.range(3, byteSize), right.range(5, byteSize), null);

        assertThat(slice(right.bytes, 5, byteSize).mismatch(slice(left.bytes, 3, byteSize)))
                .isEqualTo(-1);
        assertThat(slice(right.bytes, 0, 5).mismatch(slice(untouched, 0, 5))).isEqualTo(-1);
        assertThat(slice(right.bytes, 5 + byteSize, 50).mismatch(slice(untouched, 5 + byteSize, 50)))
                .isEqualTo(-1);
        expectNothingLeft();
    }

    @Test
    void aPieceLeavesWhileTheNextOneArrives() {
        router.copy(left.range(0, 3 * PIECE), right.range(0, 3 * PIECE), null);

        assertThat(events)
                .containsSubsequence("to Device1", "from Device0", "flush Device0 1", "flush Device1 1", "to Device1");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, PIECE, 2 * PIECE + 9})
    void arraysGoThroughPinnedMemory(int byteSize) {
        final byte[] array = new byte[byteSize];
        router.copy(left.range(1, byteSize), MemorySegment.ofArray(array), null);
        assertThat(MemorySegment.ofArray(array).mismatch(slice(left.bytes, 1, byteSize)))
                .isEqualTo(-1);

        router.copy(MemorySegment.ofArray(array), right.range(2, byteSize), null);
        assertThat(slice(right.bytes, 2, byteSize).mismatch(MemorySegment.ofArray(array)))
                .isEqualTo(-1);
        expectNothingLeft();
    }

    @Test
    void aCopyThroughTheHostFollowsTheWorkOfItsStream() {
        final QueueStream stream = new QueueStream(left.memory);
        stream.queue.add(() -> left.bytes[0] = 77);

        router.copy(left.range(0, 1), right.range(0, 1), stream);

        assertThat(right.bytes[0]).isEqualTo((byte) 77);
    }

    @Test
    void aCopyOfAProviderIsQueuedOnAStreamOfItsDevice() {
        final QueueStream stream = new QueueStream(left.memory);
        try (StagingMemory.Buffer buffer = pinned.allocate(8)) {
            router.copy(left.range(0, 8), buffer.range(8), stream);
            assertThat(stream.queue).hasSize(1);
        }
    }

    @Test
    void aStreamOfAnotherProviderIsWaitedForAndNotPassedOn() {
        final QueueStream foreign = new QueueStream(right.memory);
        foreign.queue.add(() -> left.bytes[0] = 55);
        try (StagingMemory.Buffer buffer = pinned.allocate(8)) {
            router.copy(left.range(0, 8), buffer.range(8), foreign);
            assertThat(buffer.segment().get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0))
                    .isEqualTo((byte) 55);
        }
        assertThat(foreign.queue).isEmpty();
    }

    @Test
    void aStreamThatIsClosedIsRejectedBeforeAnyByteIsCopied() {
        final QueueStream stream = new QueueStream(left.memory);
        stream.close();

        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> router.copy(left.range(0, 8), right.range(0, 8), stream));
        assertThat(copies).isZero();
        expectNothingLeft();
    }

    @Test
    void otherSizesAreRejectedBeforeAnyByteIsCopied() {
        assertThatExceptionOfType(InvalidSizeException.class)
                .isThrownBy(() -> router.copy(left.range(0, 8), right.range(0, 9), null));
        assertThatExceptionOfType(InvalidSizeException.class)
                .isThrownBy(() -> router.copy(MemorySegment.ofArray(new int[2]), right.range(0, 9), null));
        assertThatExceptionOfType(InvalidSizeException.class)
                .isThrownBy(() -> router.copy(right.range(0, 9), MemorySegment.ofArray(new int[2]), null));
        assertThat(copies).isZero();
    }

    @Test
    void whatNobodyCopiesIsRejectedWithTheProvidersAsked() {
        final MemoryInfo stranger = FakeMemory.memory("Npu", DeviceType.NPU, 0, MemoryType.DEFAULT);

        assertThat(router.canCopy(left.memory, stranger)).isFalse();
        assertThatExceptionOfType(UnsupportedMemoryException.class)
                .isThrownBy(() -> router.copy(left.range(0, 8), new MemoryRange(stranger, 8, 8), null))
                .withMessageContaining("cannot copy from Device0 (gpu:0) to Npu")
                .withMessageContaining("Device0, Device1");
        assertThat(router.canCopy(left.memory, right.memory)).isTrue();
    }

    @Test
    void anArrayThatCannotBeWrittenIsRejected() {
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> router.copy(
                        left.range(0, 8), MemorySegment.ofArray(new byte[8]).asReadOnly(), null))
                .withMessageContaining("read-only");
    }

    @Test
    void aSegmentOfAClosedArenaIsRejected() {
        final MemorySegment closed;
        try (Arena lifetime = Arena.ofConfined()) {
            closed = lifetime.allocate(8);
        }
        assertThatIllegalStateException().isThrownBy(() -> router.copy(closed, left.range(0, 8), null));
        assertThatIllegalStateException().isThrownBy(() -> router.copy(left.range(0, 8), closed, null));
    }

    @Test
    void aSegmentOfAnotherThreadIsRejected() throws InterruptedException {
        try (Arena lifetime = Arena.ofConfined()) {
            final MemorySegment mine = lifetime.allocate(8);
            final Throwable[] thrown = new Throwable[1];
            final Thread other = Thread.ofPlatform()
                    .uncaughtExceptionHandler((thread, e) -> thrown[0] = e)
                    .start(() -> router.copy(mine, left.range(0, 8), null));
            other.join();
            assertThat(thrown[0]).isInstanceOf(WrongThreadException.class);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5})
    void aCopyThatFailsLeavesNothingBehind(int call) {
        failing = call;

        assertThatExceptionOfType(DeviceException.class)
                .isThrownBy(() -> router.copy(left.range(0, 3 * PIECE), right.range(0, 3 * PIECE), null));

        expectNothingLeft();
        assertThat(left.stream.queue).isEmpty();
        assertThat(right.stream.queue).isEmpty();
    }

    @Test
    void aBufferWhoseFreeFailsKeepsNotTheOtherOne() {
        freeFailures.add(new IllegalStateException("first"));
        assertThatIllegalStateException()
                .isThrownBy(() -> router.copy(left.range(0, 8), right.range(0, 8), null))
                .withMessage("first");
        assertThat(pinned.live).hasSize(1);
    }

    @Test
    void aStreamThatCannotBeWaitedForIsClosed() {
        left.stream.before(operation -> {
            if (operation.equals("flush")) {
                throw new DeviceException("planned", null);
            }
        });

        assertThatExceptionOfType(DeviceException.class)
                .isThrownBy(() -> router.copy(left.range(0, 8), right.range(0, 8), null));

        assertThat(left.stream.isClosed()).isTrue();
        assertThat(right.stream.isClosed()).isFalse();
        assertThat(pinned.live).as("the copy may be under way").hasSize(2);
        discarded.forEach(Runnable::run);
        expectNothingLeft();
    }
}
