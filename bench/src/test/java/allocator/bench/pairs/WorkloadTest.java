package allocator.bench.pairs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.trace.Trace;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WorkloadTest {
    @Test
    void theGeneratorIsSplitMix64() {
        final SplittableRandom random = new SplittableRandom(1000);

        assertEquals(0x3c1eba8b4dccc148L, random.nextLong());
        assertEquals(0xd07a9d82d4f4bbafL, random.nextLong());
        assertEquals(0xc5fe6a1c2fc9b651L, random.nextLong());
        assertEquals(0x4f50d8f6e14fcfa7L, random.nextLong());
    }

    @ParameterizedTest
    @CsvSource({
        "large, 0, 565715329, 9dae76319f2571c2",
        "large, 1, 560384391, 1f14932a216431fc",
        "small, 0, 14303772, c168b989e4e45277",
        "small, 1, 14327581, b787d53c0936ad0a"
    })
    void steadyWorkloadsAreTheDefinedOnes(String name, int thread, long peakLive, String checksum) {
        final Workload workload = Workload.of(name, thread);

        long sum = 0;
        for (int i = 0; i < workload.events().length; i += 2) {
            sum = sum * 31 + workload.events()[i + 1] * 7L + workload.sizes()[i + 1];
        }
        assertEquals(checksum, Long.toHexString(sum));
        assertEquals(peakLive, workload.peakLiveBytes());
        assertEquals(1_000_000, workload.pairs());
    }

    @ParameterizedTest
    @CsvSource({"0, 767, 23833515, 4238571ba4824a87", "1, 745, 25795395, 4b9fd287c33009a7"})
    void theReplayWorkloadIsTheDefinedOne(int thread, int pairs, long peakLive, String checksum) {
        final Workload workload = Workload.of("replay", thread);

        final int[] sizeOf = new int[workload.slots()];
        long sum = 0;
        for (int i = 0; i < workload.events().length; i++) {
            final int event = workload.events()[i];
            final int slot = event >= 0 ? event : ~event;
            if (event >= 0) {
                sizeOf[slot] = workload.sizes()[i];
            }
            sum = sum * 31 + Integer.toUnsignedLong(event) * 7 + sizeOf[slot];
        }
        assertEquals(checksum, Long.toHexString(sum));
        assertEquals(peakLive, workload.peakLiveBytes());
        assertEquals(pairs, workload.pairs());
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpt2", "bert", "frcnn", "llama_train", "resnet", "two_streams"})
    void aRecordedTraceFreesAllThatItAllocates(String name) throws Exception {
        final Trace trace = Trace.bundled(name);
        final Workload workload = Workload.of(name, 0);

        final Set<Integer> live = new HashSet<>();
        for (final int event : workload.events()) {
            assertTrue(event >= 0 ? live.add(event) : live.remove(~event), () -> "event " + event);
        }
        assertEquals(Set.of(), live);
        assertEquals(trace.allocationCount(), workload.pairs());
        assertEquals(trace.peakLiveBytes(), workload.peakLiveBytes());
        assertEquals(workload.events().length, workload.unit());
    }

    @ParameterizedTest
    @CsvSource({"scale-1000, 1000", "scale-1000000, 1000000"})
    void aScaleKeepsSoManyBlocksLive(String name, int live) {
        final Workload workload = Workload.of(name, 0);

        assertEquals(live, Workload.liveBlocks(name));
        assertEquals(live, workload.fill().length);
        assertEquals(live, workload.slots());
        assertTrue(Arrays.stream(workload.fill()).allMatch(size -> size >= 16 && size < 8192));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "Large", "scale-7", "../large"})
    void otherNamesAreRefusedWithAList(String name) {
        final Exception e = assertThrows(IllegalArgumentException.class, () -> Workload.of(name, 0));

        assertTrue(String.valueOf(e.getMessage()).contains("'" + name + "'; there are large, replay, small, gpt2"));
    }
}
