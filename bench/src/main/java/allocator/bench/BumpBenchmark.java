package allocator.bench;

import allocator.arena.ArenaAllocator;
import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.bump.BumpAllocator;
import allocator.arena.bump.BumpArena;
import allocator.arena.bump.BumpConfig;
import allocator.arena.bump.SharedBumpArena;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/**
 * A thousand aligned allocations and what frees them all, per allocation: bump arenas, and the JDK's slicing allocator
 * beside them, which checks, and makes a segment object, for each. Then what frees block by block, in the order of the
 * allocations: the bump allocator of the contract, and the arena that it stands in for.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
public class BumpBenchmark {
    private static final int COUNT = 1000;
    private static final long BYTE_SIZE = 200;
    private static final long BYTE_ALIGNMENT = 64;

    /** A state is made by the thread that uses it, as a confined arena wants it. */
    private final BumpArena confined = new BumpArena(new AddressSource(), BumpConfig.fixed(COUNT * 256L));

    private final SharedBumpArena shared = new SharedBumpArena(new AddressSource(), BumpConfig.fixed(COUNT * 256L));
    private final BumpAllocator bumpAllocator =
            new BumpAllocator(new AddressSource(), BumpConfig.fixed(COUNT * 256L), 0, AllocatorOptions.EMPTY);
    private final ArenaAllocator arenaAllocator =
            new ArenaAllocator(new BfcArena(new AddressSource(), ArenaConfig.DEFAULT), AllocatorOptions.EMPTY);
    private final long[] addresses = new long[COUNT];
    private final MemorySegment block = Arena.ofAuto().allocate(COUNT * 256L, BYTE_ALIGNMENT);

    @Benchmark
    @OperationsPerInvocation(COUNT)
    public void confined(Blackhole hole) {
        for (int i = 0; i < COUNT; i++) {
            hole.consume(confined.allocate(BYTE_SIZE, BYTE_ALIGNMENT));
        }
        confined.reset();
    }

    @Benchmark
    @OperationsPerInvocation(COUNT)
    public void shared(Blackhole hole) {
        for (int i = 0; i < COUNT; i++) {
            hole.consume(shared.allocate(BYTE_SIZE, BYTE_ALIGNMENT));
        }
        shared.reset();
    }

    @Benchmark
    @OperationsPerInvocation(COUNT)
    public void jdkSlicingAllocator(Blackhole hole) {
        final SegmentAllocator slicing = SegmentAllocator.slicingAllocator(block);
        for (int i = 0; i < COUNT; i++) {
            hole.consume(slicing.allocate(BYTE_SIZE, BYTE_ALIGNMENT));
        }
    }

    /** A run's blocks, each freed by itself. */
    private void allocateAndFree(Allocator allocator) {
        for (int i = 0; i < COUNT; i++) {
            addresses[i] = allocator.alloc(BYTE_SIZE);
        }
        for (final long address : addresses) {
            allocator.free(address);
        }
    }

    @Benchmark
    @OperationsPerInvocation(COUNT)
    public void bumpAllocator() {
        allocateAndFree(bumpAllocator);
    }

    @Benchmark
    @OperationsPerInvocation(COUNT)
    public void arenaAllocator() {
        allocateAndFree(arenaAllocator);
    }
}
