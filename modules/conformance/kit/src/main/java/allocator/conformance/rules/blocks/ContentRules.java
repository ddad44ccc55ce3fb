package allocator.conformance.rules.blocks;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;

/** Rule A-09: every byte of every kind of block, beside every kind of neighbour, whatever happens to the others. */
public abstract class ContentRules extends Chapter {
    /** The most bytes of a block that are compared; larger blocks are compared at both ends. */
    private static final long END = 8192;

    /** Live blocks whose bytes are known. */
    private static final class Canaries {
        private final Allocator allocator;
        private final Contents contents;
        private final Blocks blocks = new Blocks();
        private final Map<Long, Long> live = new LinkedHashMap<>();

        Canaries(Allocator allocator, Contents contents) {
            this.allocator = allocator;
            this.contents = contents;
        }

        long add(LongUnaryOperator call, long byteSize) {
            final long address = call.applyAsLong(byteSize);
            blocks.add(address, byteSize);
            live.put(address, byteSize);
            Contents.Part.ends(address, byteSize, END)
                    .forEach(end -> contents.fill(end, address ^ byteSize ^ end.offset()));
            return address;
        }

        void free(long address, String when) {
            verify(address, Objects.requireNonNull(live.remove(address)), when);
            blocks.remove(address);
            allocator.free(address);
        }

        void verify(String when) {
            live.forEach((address, byteSize) -> verify(address, byteSize, when));
        }

        private void verify(long address, long byteSize, String when) {
            for (final Contents.Part end : Contents.Part.ends(address, byteSize, END)) {
                contents.fault(end, address ^ byteSize ^ end.offset())
                        .ifPresent(fault -> Expect.that(
                                false,
                                "a live block of %d bytes changed %s: from byte %d, %s",
                                byteSize,
                                when,
                                end.offset(),
                                fault));
            }
        }

        void freeAll() {
            live.keySet().forEach(allocator::free);
            live.clear();
        }

        List<Long> addresses() {
            return List.copyOf(live.keySet());
        }
    }

    @ConformanceTest
    void required_A09_neighboursOfEachKindKeepTheirContents(Subject subject) {
        final Allocator allocator = subject.exclusive(subject.manyRegions());
        final Contents contents = subject.contents(allocator);
        final Map<String, LongUnaryOperator> calls = AllocationCalls.withContents(subject, allocator);
        final Canaries canaries = new Canaries(allocator, contents);
        for (final long byteSize : new long[] {1, 15, 16, 17, 100, 256, 4096, 5000, 16_384, 70_001, (1 << 20) + 3}) {
            for (int i = 0; i < 3; i++) {
                calls.forEach((name, call) -> canaries.add(call, byteSize));
            }
        }
        canaries.verify("when others were allocated");
        final List<Long> addresses = canaries.addresses();
        for (int i = 0; i < addresses.size(); i += 2) {
            canaries.free(addresses.get(i), "when others were allocated");
        }
        canaries.verify("when its neighbours were freed");
        calls.forEach((name, call) -> canaries.add(call, 3000));
        Subject.ifShrinkable(allocator).ifPresent(shrinkable -> {
            shrinkable.shrink();
            canaries.verify("by a shrink");
        });
        calls.forEach((name, call) -> canaries.add(call, 70_001));
        canaries.verify("when others were allocated in place of freed ones");
        canaries.freeAll();
    }

    @ConformanceTest
    void required_A09_contentsLastOverManyOperations(Subject subject) {
        final Allocator allocator = subject.exclusive(subject.boundedGrowth());
        final Contents contents = subject.contents(allocator);
        final List<LongUnaryOperator> calls =
                List.copyOf(AllocationCalls.withContents(subject, allocator).values());
        final SplittableRandom random = subject.random("A-09 operations");
        final Canaries canaries = new Canaries(allocator, contents);
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < subject.times(60_000, 12_000) && subject.hasTime(); i++) {
            if (live.size() > 40 || (!live.isEmpty() && random.nextInt(100) < 45)) {
                canaries.free(live.remove(random.nextInt(live.size())), "within " + i + " operations");
            } else {
                final LongUnaryOperator call = calls.get(random.nextInt(10) == 0 ? random.nextInt(calls.size()) : 0);
                live.add(canaries.add(call, 1 + random.nextLong(1L << random.nextInt(1, 12))));
            }
        }
        canaries.verify("within many operations");
        canaries.freeAll();
    }

    @ConformanceTest
    void required_K01_everyByteLastsOverShrinks(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(subject.exclusive(subject.manyRegions()));
        final Contents contents = subject.contents(allocator);
        final SplittableRandom random = subject.random("K-01 bytes");
        final Map<Long, Long> live = new LinkedHashMap<>();
        for (int round = 0; round < subject.times(30, 8) && subject.hasTime(); round++) {
            for (int i = 0; i < 24; i++) {
                final long byteSize = 1 + random.nextLong(1L << random.nextInt(4, 18));
                final long address = allocator.alloc(byteSize);
                contents.fill(address, byteSize, address + byteSize);
                live.put(address, byteSize);
            }
            for (final long address : List.copyOf(live.keySet())) {
                if (live.size() > 12 && random.nextInt(3) > 0) {
                    live.remove(address);
                    allocator.free(address);
                }
            }
            allocator.shrink();
            live.forEach((address, byteSize) ->
                    contents.verify(address, byteSize, address + byteSize, "a live block changed by a shrink:"));
        }
        live.keySet().forEach(allocator::free);
    }

    @ConformanceTest
    void required_A07_contentsLastOverFailures(Subject subject) {
        final Allocator allocator = subject.limited(4L << 20);
        final Contents contents = subject.contents(allocator);
        final long unit = subject.limitOf(allocator) / 16;
        final Map<String, LongUnaryOperator> calls = AllocationCalls.withContents(subject, allocator);
        final Canaries canaries = new Canaries(allocator, contents);
        // The reserve first: what is free in a region may be in its way, and a region may take all of the limit.
        new TreeMap<>(calls).descendingMap().forEach((name, call) -> canaries.add(call, unit));
        canaries.add(allocator::alloc, 100);
        calls.forEach((name, call) -> {
            Expect.rejection(
                    OutOfMemoryException.class, name + " of the whole limit", () -> call.applyAsLong(16 * unit));
            canaries.verify("when " + name + " of the whole limit failed");
        });
        for (final long address : canaries.addresses()) {
            Expect.rejection(InvalidFreeException.class, "free of a wrong address", () -> allocator.free(address + 1));
        }
        canaries.verify("when frees were rejected");
        canaries.freeAll();
    }
}
