package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.arena.chunk.ChunkValue;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Memory passes between streams only after the stream that freed it is known to be done with it. */
class BfcArenaStreamsTest {
    private static final int REGION = 64 * 1024;

    private final FakeDevice device = new FakeDevice();
    private final BfcArena arena = new BfcArena(
            device,
            new ArenaConfig(
                    ExtendStrategy.POWER_OF_TWO,
                    REGION,
                    1 << 20,
                    REGION,
                    REGION,
                    0,
                    PlacementPolicy.BEST_FIT,
                    0,
                    true));
    private final FakeStream s1 = new FakeStream();
    private final FakeStream s2 = new FakeStream();

    private List<ChunkValue> chunks() {
        return ArenaState.chunksOf(arena);
    }

    @Test
    void aStreamReusesWhatItFreed() {
        final long a = arena.allocOnStream(REGION, s1);
        arena.free(a);

        assertThat(arena.allocOnStream(REGION, s1)).isEqualTo(a);
    }

    @Test
    void memoryOfAnEndedStreamIsUsedBeforeTheArenaGrows() {
        final List<FakeStream> streams = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            streams.add(new FakeStream());
            arena.allocOnStream(REGION / 64, streams.get(i));
        }
        final long freed = chunks().get(40).address();
        arena.free(freed);
        assertThat(arena.stats().bytesHeld()).isEqualTo(REGION);
        streams.get(40).close();

        assertThat(arena.allocOnStream(REGION / 64, s1)).isEqualTo(freed);
    }

    @Test
    void noOtherRequesterReusesIt() {
        final long a = arena.allocOnStream(REGION, s1);
        arena.free(a);

        assertThat(arena.allocOnStream(REGION, s2)).isNotEqualTo(a);
        assertThat(arena.alloc(REGION)).isNotEqualTo(a);
    }

    @Test
    void aWaitForALaterEventOpensIt() {
        final long a = arena.allocOnStream(REGION, s1);
        arena.free(a);
        s1.notifyAndWait(s2);

        assertThat(arena.alloc(REGION)).as("no stream has waited for nothing").isNotEqualTo(a);
        assertThat(arena.allocOnStream(REGION, s2)).isEqualTo(a);
    }

    /** The hole in ONNX Runtime: work queued between the event and the free may still use the memory. */
    @Test
    void aWaitForAnEarlierEventDoesNotOpenIt() {
        final long a = arena.allocOnStream(REGION, s1);
        s1.notifyAndWait(s2);
        arena.free(a);

        assertThat(arena.allocOnStream(REGION, s2)).isNotEqualTo(a);
    }

    @Test
    void aWaitThroughAThirdStreamOpensIt() {
        final FakeStream s3 = new FakeStream();
        final long a = arena.allocOnStream(REGION, s1);
        arena.free(a);
        s1.notifyAndWait(s3);
        s3.notifyAndWait(s2);

        assertThat(arena.allocOnStream(REGION, s2)).isEqualTo(a);
    }

    @Test
    void whatIsHandedOnBelongsToTheNewStream() {
        final long a = arena.allocOnStream(REGION, s1);
        arena.free(a);
        s1.notifyAndWait(s2);
        arena.allocOnStream(REGION, s2);
        arena.releaseStream(s1);
        arena.free(a);

        assertThat(chunks().getFirst().streamId()).isEqualTo(s2.id());
        assertThat(arena.allocOnStream(REGION, s1)).isNotEqualTo(a);
    }

    @Test
    void aReleasedStreamsMemoryIsForAll() {
        final long used = arena.allocOnStream(REGION / 2, s1);
        final long free = arena.allocOnStream(REGION / 2, s1);
        arena.free(free);
        arena.releaseStream(s1);
        assertThat(arena.alloc(REGION / 2)).isEqualTo(free);

        arena.free(used);
        assertThat(arena.allocOnStream(REGION / 2, s2))
                .as("freed after the release")
                .isEqualTo(used);
    }

    /** What is in use may be used by the stream's next run, and freed with that work queued. */
    @Test
    void theEndOfARunOpensOnlyWhatIsFree() {
        final long used = arena.allocOnStream(REGION / 2, s1);
        final long free = arena.allocOnStream(REGION / 2, s1);
        arena.free(free);
        arena.endRun(s1);
        assertThat(arena.alloc(REGION / 2)).isEqualTo(free);

        arena.free(used);
        assertThat(arena.allocOnStream(REGION / 2, s2)).isNotEqualTo(used);
        arena.endRun(s1);
        assertThat(arena.allocOnStream(REGION / 2, s2)).isEqualTo(used);
    }

    @Test
    void aReleaseMergesWhatStreamsSeparated() {
        final long[] blocks = new long[4];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = arena.allocOnStream(REGION / 4, i % 2 == 0 ? s1 : s2);
        }
        for (final long block : blocks) {
            arena.free(block);
        }
        assertThat(chunks()).hasSize(4);

        arena.releaseStream(s1);
        arena.releaseStream(s2);

        assertThat(chunks()).hasSize(1);
        assertThat(arena.stats().largestFreeChunk()).isEqualTo(REGION);
    }

    @Test
    void aReleaseOfAnUnknownStreamDoesNothing() {
        arena.alloc(100);
        final ArenaState before = ArenaState.of(arena);
        arena.releaseStream(s1);
        assertThat(ArenaState.of(arena)).isEqualTo(before);
    }

    @Test
    void theUntouchedRestOfARegionIsForOtherStreamsToo() {
        final long a = arena.allocOnStream(1024, s1);
        arena.free(a);

        final ChunkValue whole = chunks().getFirst();
        assertThat(chunks()).hasSize(1);
        assertThat(whole.streamId()).isEqualTo(s1.id());
        assertThat(whole.untouchedTailBytes()).isEqualTo(REGION - 1024);
        assertThat(arena.allocOnStream(1024, s2)).isEqualTo(a + 1024);
        assertThat(arena.allocOnStream(1024, s1)).isEqualTo(a);
        assertThat(arena.stats().bytesHeld()).isEqualTo(REGION);
    }

    @Test
    void unboundMemoryBeforeAnOwnedChunkIsForOtherStreamsToo() {
        final long a = arena.alloc(REGION / 2);
        final long b = arena.allocOnStream(REGION / 2, s1);
        arena.free(b);
        arena.free(a);

        assertThat(chunks()).hasSize(1);
        assertThat(chunks().getFirst().untouchedHeadBytes()).isEqualTo(REGION / 2);
        assertThat(arena.allocOnStream(REGION / 4, s2)).isEqualTo(a);
        assertThat(arena.allocOnStream(REGION / 4, s2)).isEqualTo(a + REGION / 4);
        assertThat(arena.allocOnStream(REGION / 2, s1)).isEqualTo(b);
    }

    @Test
    void ownersAreUsedAgainWhenNothingRefersToThem() {
        for (int i = 0; i < 10_000; i++) {
            final FakeStream stream = new FakeStream();
            arena.free(arena.allocOnStream(1000, stream));
            arena.releaseStream(stream);
        }

        assertThat(TableHeap.of(arena)).isLessThan(64 * 1024);
        arena.checkConsistency();
    }

    @Test
    void aSlotIsNotUsedAgainWhileMemoryOfAReleasedStreamIsInUse() {
        final long a = arena.allocOnStream(REGION, s1);
        arena.releaseStream(s1);
        final long b = arena.allocOnStream(REGION, s2);
        arena.free(b);
        arena.free(a);

        assertThat(chunks()).extracting(ChunkValue::streamId).containsExactly(0L, s2.id());
    }

    /** A shrink must not return memory that queued work may still use. */
    @Test
    void aShrinkWaitsForTheOwnersOfWhatItReturns() {
        arena.alloc(REGION);
        final long a = arena.allocOnStream(REGION, s1);
        final long b = arena.allocOnStream(REGION, s2);
        arena.free(a);

        final ShrinkReport report = arena.shrink();

        assertThat(s1.flushes()).isEqualTo(1);
        assertThat(s2.flushes()).isZero();
        assertThat(report).isEqualTo(new ShrinkReport(REGION, 1, 2 * REGION, 2, 0, List.of(inUse(2 * REGION, 2))));
        arena.free(b);
    }

    private static ShrinkReport.Held inUse(long bytes, int regions) {
        return new ShrinkReport.Held(bytes, regions, "regions with live blocks");
    }

    @Test
    void aClosedStreamsMemoryIsReturnedAllTheSame() {
        arena.alloc(REGION);
        arena.free(arena.allocOnStream(REGION, s1));
        s1.close();

        assertThat(arena.shrink().bytesReleased()).isEqualTo(REGION);
    }

    @Test
    void aCloseWaitsForTheOwners() {
        arena.free(arena.allocOnStream(REGION, s1));
        arena.allocOnStream(REGION, s2);

        assertThat(arena.close().liveAllocations()).isEqualTo(1);
        assertThat(s1.flushes()).isEqualTo(1);
        assertThat(s2.flushes()).isEqualTo(1);
        assertThat(device.liveBlocks()).isZero();
    }

    /** The shrink has not waited for work that was queued while it waited. */
    @Test
    void aRegionThatIsUsedWhileAShrinkWaitsStays() {
        arena.alloc(REGION);
        final long[] address = new long[1];
        final FakeStream busy = new FakeStream();
        busy.before(operation -> {
            assertThat(arena.allocOnStream(REGION, busy)).isEqualTo(address[0]);
            arena.free(address[0]);
        });
        address[0] = arena.allocOnStream(REGION, busy);
        arena.free(address[0]);

        assertThat(arena.shrink())
                .isEqualTo(new ShrinkReport(
                        0,
                        0,
                        2 * REGION,
                        1,
                        1,
                        List.of(
                                inUse(REGION, 1),
                                new ShrinkReport.Held(
                                        REGION,
                                        1,
                                        "regions that were used during the shrink, or that a stream may still use"))));
    }

    @Test
    void manyStreamsNeverShareMemoryThatIsNotFenced() {
        final Random random = new Random(7);
        final List<FakeStream> streams = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            streams.add(new FakeStream());
        }
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            if (live.isEmpty() || random.nextInt(100) < 52) {
                live.add(arena.allocOnStream(1 + random.nextInt(5000), streams.get(random.nextInt(40))));
            } else {
                arena.free(live.remove(random.nextInt(live.size())));
            }
        }
        streams.forEach(arena::releaseStream);
        live.forEach(arena::free);

        arena.checkConsistency();
        assertThat(chunks()).allSatisfy(chunk -> assertThat(chunk.byteSize()).isEqualTo(REGION));
    }

    @Test
    void aStreamOfAnotherDeviceIsRejected() {
        final StreamArenaAllocator allocator = new StreamArenaAllocator(arena, AllocatorOptions.EMPTY);
        final MemoryInfo elsewhere = new MemoryInfo(
                "Elsewhere", new MemoryLocation(DeviceType.GPU, 0, 1, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);
        final FakeStream foreign = new FakeStream(elsewhere);

        assertThatThrownBy(() -> allocator.allocOnStream(100, foreign)).isInstanceOf(IllegalArgumentException.class);
        assertThat(allocator.allocOnStream(100, s1)).isPositive();
    }

    /** A stream that was closed although its device could not confirm that its work is done. */
    private static final class UnfinishedStream extends SyncStream {
        private boolean isClosed;

        UnfinishedStream() {
            super(FakeDevice.INFO);
        }

        @Override
        public long handle() {
            return 0;
        }

        @Override
        public SyncNotification createNotification() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void flush() {
            if (isClosed) {
                throw new IllegalStateException("closed");
            }
        }

        @Override
        public void onSessionRunEnd() {
            flush();
        }

        @Override
        public void close() {
            if (isClosed) {
                setEnded(); // a second close succeeds
            }
            isClosed = true;
        }
    }

    @Test
    void aShrinkKeepsMemoryOfWorkThatIsNotKnownToBeDone() {
        final UnfinishedStream unfinished = new UnfinishedStream();
        final long kept = arena.alloc(1);
        final long byUnfinished = arena.allocOnStream(REGION, unfinished);
        final long bySecond = arena.allocOnStream(4 * REGION, s2);
        arena.free(byUnfinished);
        arena.free(bySecond);
        unfinished.close();
        assertThat(arena.shrink().regionsReleased()).isEqualTo(1);
        assertThat(device.freeCalls()).isEqualTo(1);
        unfinished.close();
        assertThat(arena.shrink().regionsReleased()).isEqualTo(1);
        arena.free(kept);
    }
}
