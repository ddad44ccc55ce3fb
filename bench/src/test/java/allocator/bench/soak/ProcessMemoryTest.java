package allocator.bench.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import allocator.bench.subject.MallocAllocator;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ProcessMemoryTest {
    /** Below the least size that malloc maps by itself and unmaps when it is freed. */
    private static final int BLOCK = 100 << 10;

    private static final int BLOCKS = 1000;
    private static final long MOST_KIB = ((long) BLOCKS * BLOCK) >> 10;

    private static final long LARGE = 30 << 20;

    private final MallocAllocator malloc = new MallocAllocator();
    private final List<Long> blocks = new ArrayList<>();

    @Test
    @SuppressWarnings("restricted")
    void freedMemoryThatMallocKeepsIsNotResidentInASample() throws IOException {
        assumeTrue(CLibrary.blocks().isPresent(), "figures of malloc need glibc 2.33");
        final Map<Source, Long> before = ProcessMemory.sample();
        for (int i = 0; i < BLOCKS; i++) {
            final long block = malloc.alloc(BLOCK);
            MemorySegment.ofAddress(block).reinterpret(BLOCK).fill((byte) 1);
            blocks.add(block);
        }
        final Map<Source, Long> live = ProcessMemory.sample();
        assertThat(growth(Source.IN_USE, before, live)).isBetween(MOST_KIB * 9 / 10, MOST_KIB * 3 / 2);
        assertThat(growth(Source.RESIDENT, before, live)).isGreaterThan(MOST_KIB / 2);

        // The last block stays, so that malloc has no reason to give back what is free.
        for (int i = 0; i < BLOCKS - 1; i++) {
            malloc.free(blocks.get(i));
        }
        final Map<Source, Long> freed = ProcessMemory.sample();
        malloc.free(blocks.getLast());
        assertThat(growth(Source.KEPT, live, freed)).isGreaterThan(MOST_KIB / 2);
        assertThat(growth(Source.IN_USE, before, freed)).isLessThan(MOST_KIB / 4);
        assertThat(growth(Source.RESIDENT, before, freed)).isLessThan(MOST_KIB / 4);
    }

    @Test
    void aLargeBlockThatIsFreedIsNotKept() throws IOException {
        assumeTrue(CLibrary.blocks().isPresent(), "figures of malloc need glibc 2.33");
        malloc.free(malloc.alloc(LARGE)); // teaches malloc to keep such blocks
        CLibrary.keepLittle();
        final long block = malloc.alloc(LARGE / 2);
        final Map<Source, Long> live = ProcessMemory.sample();
        malloc.free(block);
        assertThat(growth(Source.KEPT, live, ProcessMemory.sample())).isLessThan(LARGE >> 12);
    }

    private static long growth(Source source, Map<Source, Long> before, Map<Source, Long> after) {
        return after.getOrDefault(source, 0L) - before.getOrDefault(source, 0L);
    }
}
