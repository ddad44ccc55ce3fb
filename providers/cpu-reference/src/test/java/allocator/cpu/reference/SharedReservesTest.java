package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cpu.reference.HostPagesContract.Errno;
import allocator.provider.support.budget.Budget;
import allocator.provider.support.platform.Platform;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.PagedReserves;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.testkit.FaultyCalls;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Reserves with one copy: each has its bytes, and what is held counts the copy once. */
@EnabledOnOs(value = OS.LINUX, disabledReason = "pages of the host are mapped on Linux only")
class SharedReservesTest {
    private static final long SIZE = (1 << 18) + 1000;
    private static final Map<Integer, byte[]> PATTERNS = new ConcurrentHashMap<>();

    @TempDir
    private Path folder;

    private final FaultyCalls calls = new FaultyCalls();

    /** By which the copies are found from elsewhere; {@code null} for those of one allocator alone. */
    private @Nullable CopyLinks machine;

    private ProcessMappings mappings = ProcessMappings.PROCESS;
    private final CpuReferenceFactory factory = new CpuReferenceFactory(new FaultyHeap(), Platform.current());
    private final List<Allocator> allocators = new ArrayList<>();

    /** Blocks that the system got back while they were mapped to a copy. */
    private int stillShared;

    /** Memory of the system, whose blocks are shared by calls that fail on demand. */
    private final class FaultyHeap implements Heap {
        @Override
        public long allocate(long byteAlignment, long byteSize) {
            return NATIVE.allocate(byteAlignment, byteSize);
        }

        @Override
        public void free(long address, long byteSize) {
            final String start = Long.toHexString(address) + "-";
            stillShared += mapped().stream().anyMatch(line -> line.startsWith(start)) ? 1 : 0;
            NATIVE.free(address, byteSize);
        }

        @Override
        public SharedPages share(MemoryInfo info, @Nullable CopyLinks links) {
            return new SharedPages(HostPagesContract.faulty(calls, Long.MAX_VALUE), info, mappings, machine);
        }
    }

    /** The allocators of this provider. */
    @SuppressWarnings("ImmutableEnumChecker") // Map.of is immutable
    enum Kind {
        BEST_FIT(Map.of()),
        SLABS(Map.of("arena.policy", "slabs")),
        COMPACT(Map.of("arena.policy", "compact")),
        BUMP(Map.of("arena.kind", "bump")),
        PLANNED(Map.of("arena.plan", "plan.csv")),
        READ_ONLY(Map.of());

        private final Map<String, String> settings;

        Kind(Map<String, String> settings) {
            this.settings = settings;
        }
    }

    private Allocator allocator(Kind kind, Map<String, String> more) throws IOException {
        AllocatorOptions options = AllocatorOptions.of(Map.of("arena.exclusive", "1"), "test");
        for (final Map.Entry<String, String> setting : kind.settings.entrySet()) {
            final boolean isFile = kind == Kind.PLANNED;
            options = options.with(
                    setting.getKey(),
                    isFile ? folder.resolve(setting.getValue()).toString() : setting.getValue(),
                    "test");
        }
        for (final Map.Entry<String, String> setting : more.entrySet()) {
            options = options.with(setting.getKey(), setting.getValue(), "test");
        }
        Files.writeString(folder.resolve("plan.csv"), "id,lower,upper,size,offset\n0,0,1,256,0\n");
        final List<MemoryInfo> memories =
                factory.discoverDevices().devices().getFirst().memoryInfos();
        final Allocator allocator = factory.createAllocator(memories.get(kind == Kind.READ_ONLY ? 1 : 0), options);
        allocators.add(allocator);
        return allocator;
    }

    private static PagedReserves paged(Allocator allocator) {
        return allocator.as(PagedReserves.class).orElseThrow();
    }

    @AfterEach
    void everythingGoesBack() throws IOException {
        calls.stop();
        allocators.forEach(factory::releaseAllocator);
        factory.close();
        assertThat(files()).isEmpty();
        assertThat(stillShared).isZero();
        final List<String> mapped = mapped();
        mapped.forEach(SharedReservesTest::unmap);
        if (calls.failures() == 0) { // otherwise that of munmap may be among them
            assertThat(mapped).isEmpty();
        }
    }

    /** Returns what of such files is mapped. */
    private static List<String> mapped() {
        try {
            return Files.readAllLines(Path.of("/proc/self/maps")).stream()
                    .filter(line -> line.contains("memfd:java.allocator"))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the files of copies that are open. */
    private static List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            return files.filter(SharedReservesTest::isOfMemory).toList();
        }
    }

    private static void unmap(String line) {
        final long[] ends = Stream.of(line.substring(0, line.indexOf(' ')).split("-", -1))
                .mapToLong(end -> Long.parseLong(end, 16))
                .toArray();
        assertThat(HostPages.nativeCalls(Platform.current()).munmap(ends[0], ends[1] - ends[0]))
                .isZero();
    }

    private static boolean isOfMemory(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().contains("memfd:java.allocator");
        } catch (IOException e) {
            return false; // the one that lists the others is closed
        }
    }

    private static MemorySegment bytes(long address) {
        return HostHeap.segment(address, SIZE);
    }

    private static long filled(Allocator allocator, int seed) {
        final long address = allocator.reserve(SIZE);
        bytes(address).copyFrom(MemorySegment.ofArray(pattern(seed)));
        return address;
    }

    private static byte[] pattern(int seed) {
        return PATTERNS.computeIfAbsent(seed, _ -> {
            final byte[] pattern = new byte[(int) SIZE];
            new Random(seed).nextBytes(pattern);
            return pattern;
        });
    }

    private static void requireBytes(long address, int seed) {
        assertThat(bytes(address).mismatch(MemorySegment.ofArray(pattern(seed))))
                .isEqualTo(-1);
    }

    private static void requireConsistent(Allocator allocator, long requested) {
        final AllocatorStats stats = allocator.stats();
        assertThat(stats.requestedBytesInUse()).isEqualTo(requested);
        assertThat(stats.bytesInUse()).isBetween(stats.requestedBytesInUse(), stats.bytesHeld());
        assertThat(stats.bytesHeld()).isLessThanOrEqualTo(stats.peakBytesHeld());
        assertThat(stats.bytesInUse()).isLessThanOrEqualTo(stats.peakBytesInUse());
        if (allocator instanceof ShrinkableAllocator arena) {
            assertThat(stats.freeBytes()).isEqualTo(stats.bytesHeld() - stats.bytesInUse());
            final ShrinkReport report = arena.shrink();
            assertThat(report.bytesHeld()).isEqualTo(allocator.stats().bytesHeld());
            assertThat(report.held().stream()
                            .mapToLong(ShrinkReport.Held::bytes)
                            .sum())
                    .isEqualTo(report.bytesHeld());
        }
    }

    private static long residentBytes() {
        try {
            return Files.readAllLines(Path.of("/proc/self/smaps_rollup")).stream()
                    .filter(line -> line.startsWith("Pss:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Nested
    class OfEachAllocator {
        @ParameterizedTest
        @EnumSource
        void equalReservesCountOnceUntilTheLastIsFreed(Kind kind) throws IOException {
            final Allocator allocator = allocator(kind, Map.of());
            final PagedReserves paged = paged(allocator);
            final long budgetBefore = Budget.ofMemory(allocator.info()).status().charge();
            final long other = allocator.alloc(256);
            final List<Path> filesBefore = files();
            for (final int[] order : new int[][] {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
                final long[] reserves = {filled(allocator, 1), filled(allocator, 1), filled(allocator, 1)};
                final long unequal = filled(allocator, 2);
                assertThat(paged.share(reserves[0])).isZero();
                assertThat(paged.share(reserves[1])).isEqualTo(SIZE);
                assertThat(paged.share(unequal)).isZero();
                assertThat(paged.share(reserves[2])).isEqualTo(SIZE);
                assertThat(paged.share(reserves[2])).isZero();
                assertThat(paged.sharedBytes()).isEqualTo(2 * SIZE);
                requireConsistent(allocator, 2 * SIZE + 256);
                for (int freed = 0; freed < 3; freed++) {
                    allocator.free(reserves[order[freed]]);
                    for (int left = freed + 1; left < 3; left++) {
                        requireBytes(reserves[order[left]], 1);
                    }
                    requireBytes(unequal, 2);
                    assertThat(paged.sharedBytes()).isEqualTo(Math.max(0, 1 - freed) * SIZE);
                    requireConsistent(allocator, (freed == 2 ? 1 : 2) * SIZE + 256);
                }
                allocator.free(unequal);
                requireConsistent(allocator, 256);
                assertThat(files()).isEqualTo(filesBefore);
            }
            allocator.free(other);
            assertThat(allocator.stats().bytesInUse()).isZero();
            if (kind == Kind.READ_ONLY) {
                assertThat(Budget.ofMemory(allocator.info()).status().charge()).isEqualTo(budgetBefore);
            }
        }

        @ParameterizedTest
        @EnumSource
        void aCloseReturnsSharedReservesThatAreLive(Kind kind) throws IOException {
            final Allocator allocator = allocator(kind, Map.of());
            for (int i = 0; i < 3; i++) {
                paged(allocator).share(filled(allocator, 1));
            }
            assertThat(paged(allocator).sharedBytes()).isEqualTo(2 * SIZE);
        }

        @ParameterizedTest
        @EnumSource(names = {"BEST_FIT", "COMPACT", "BUMP"})
        void theLimitHasRoomForOneCopy(Kind kind) throws IOException {
            final Allocator allocator =
                    allocator(kind, Map.of("arena.max_mem", Long.toString(4 * SIZE + PagedReserves.LEAST_BYTES)));
            final List<Long> reserves = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                reserves.add(filled(allocator, 1));
                paged(allocator).share(reserves.getLast());
                assertThat(allocator.stats().bytesHeld()).isEqualTo(SIZE);
            }
            reserves.add(allocator.reserve(3 * SIZE));
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> allocator.reserve(2 * PagedReserves.LEAST_BYTES));
            reserves.forEach(allocator::free);
            assertThat(allocator.stats().bytesHeld()).isZero();
        }

        @ParameterizedTest
        @EnumSource(names = {"BEST_FIT", "BUMP"})
        void onlyLargeReservesAreShared(Kind kind) throws IOException {
            final Allocator allocator = allocator(kind, Map.of());
            for (final long address : List.of(
                    allocator.alloc(SIZE),
                    allocator.reserve(PagedReserves.LEAST_BYTES - 1),
                    filled(allocator, 1) + 4096)) {
                assertThat(paged(allocator).share(address)).isZero();
            }
            assertThat(paged(allocator).share(0)).isZero();
            assertThat(calls.calls()).isZero();
        }
    }

    @Test
    void whatIsSharedIsThereOnce() throws IOException {
        final Allocator allocator = allocator(Kind.BEST_FIT, Map.of());
        final long before = residentBytes();
        final List<Long> reserves = new ArrayList<>();
        for (int i = 0; i < 160; i++) {
            reserves.add(filled(allocator, 1));
            paged(allocator).share(reserves.getLast());
        }
        reserves.forEach(reserve -> requireBytes(reserve, 1));
        assertThat(residentBytes() - before).isLessThan(80 * SIZE);
        assertThat(allocator.stats().counter("sharedBytes").orElseThrow().value())
                .isEqualTo(159 * SIZE);
        reserves.forEach(allocator::free);
    }

    @Test
    void aWriteIsSeenInItsOwnReserveOnly() throws IOException {
        final Allocator allocator = allocator(Kind.BEST_FIT, Map.of());
        final PagedReserves paged = paged(allocator);
        final long written = filled(allocator, 1);
        final long read = filled(allocator, 1);
        paged.share(written);
        paged.share(read);
        bytes(written).copyFrom(MemorySegment.ofArray(pattern(2)));
        requireBytes(read, 1);
        final long third = filled(allocator, 1);
        assertThat(paged.share(third)).isEqualTo(SIZE);
        requireBytes(third, 1);
        requireBytes(written, 2);
        allocator.free(read);
        allocator.free(third);
        requireBytes(written, 2);
        allocator.free(written);
        assertThat(paged.sharedBytes()).isZero();
    }

    @Test
    void reservesThatDifferInOneByteHaveOtherCopies() throws IOException {
        final Allocator allocator = allocator(Kind.BEST_FIT, Map.of());
        final List<Long> reserves = new ArrayList<>();
        final long[] saved = new long[6];
        for (int i = 0; i < saved.length; i++) {
            reserves.add(filled(allocator, 1));
            bytes(reserves.getLast()).set(ValueLayout.JAVA_BYTE, SIZE - 1, (byte) (i % 3));
            saved[i] = paged(allocator).share(reserves.getLast());
        }
        assertThat(saved).containsExactly(0, 0, 0, SIZE, SIZE, SIZE);
        for (int i = 0; i < saved.length; i++) {
            assertThat(bytes(reserves.get(i)).get(ValueLayout.JAVA_BYTE, SIZE - 1))
                    .isEqualTo((byte) (i % 3));
        }
        reserves.forEach(allocator::free);
    }

    @Nested
    class Failures {
        /** Shares two pairs and frees all, with one call failing; returns whether it was reached. */
        private boolean shareWithFailure(long call, int errno) throws IOException {
            final Allocator allocator = allocator(Kind.BEST_FIT, Map.of());
            final PagedReserves paged = paged(allocator);
            final List<Long> reserves = new ArrayList<>();
            final long before = calls.failures();
            calls.failAt(calls.calls() + call, false, () -> new Errno(errno));
            for (int i = 0; i < 4; i++) {
                reserves.add(filled(allocator, i % 2));
                try {
                    paged.share(reserves.getLast());
                } catch (AllocatorException e) {
                    assertThat(e).hasMessageContaining(Integer.toString(errno));
                }
                for (int j = 0; j <= i; j++) {
                    requireBytes(reserves.get(j), j % 2);
                }
                assertThat(allocator.stats().bytesHeld()).isEqualTo((i + 1) * SIZE - paged.sharedBytes());
            }
            Collections.shuffle(reserves, new Random(call));
            for (int i = 0; i < 4; i++) {
                allocator.free(reserves.get(i));
            }
            final boolean wasReached = calls.failures() > before;
            calls.stop();
            ((ShrinkableAllocator) allocator).shrink();
            return wasReached;
        }

        @Test
        void eachCallFailsInTurn() throws IOException {
            for (final CopyLinks links : Arrays.asList(null, new CopyLinks(folder))) {
                machine = links;
                for (final int errno : new int[] {LinuxCalls.ENOMEM, 11}) {
                    long call = 1;
                    while (shareWithFailure(call, errno)) {
                        call++;
                    }
                    assertThat(call).isGreaterThan(15);
                }
            }
        }

        @Test
        void withoutADescriptorTheReasonIsSaid() throws IOException {
            final Allocator allocator = allocator(Kind.BEST_FIT, Map.of());
            final long reserve = filled(allocator, 1);
            calls.failAt(calls.calls() + 1, true, () -> new Errno(LinuxCalls.EMFILE));
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> paged(allocator).share(reserve))
                    .withMessageContaining("raise ulimit -n");
            requireBytes(reserve, 1);
            calls.stop();
            assertThat(paged(allocator).share(reserve)).isZero();
            allocator.free(reserve);
        }

        @Test
        void withoutRoomForMappingsTheReasonIsSaid() throws IOException {
            mappings = new ProcessMappings(100, () -> 100, System::nanoTime);
            final Allocator allocator = allocator(Kind.BEST_FIT, Map.of());
            final long reserve = filled(allocator, 1);
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> paged(allocator).share(reserve))
                    .withMessageContaining("vm.max_map_count is 100");
            requireBytes(reserve, 1);
            allocator.free(reserve);
        }

        @Test
        void memoryThatIsNotMappedIsNotShared() {
            final Heap heap = new Heap() {
                @Override
                public long allocate(long byteAlignment, long byteSize) {
                    return 1 << 20;
                }

                @Override
                public void free(long address, long byteSize) {}
            };
            final MemoryInfo info =
                    factory.discoverDevices().devices().getFirst().memoryInfos().getFirst();
            final HostAllocator allocator = new HostAllocator(info, heap, null);
            final long block = allocator.reserve(SIZE);
            assertThatExceptionOfType(AllocatorException.class)
                    .isThrownBy(() -> allocator.share(block))
                    .withMessageContaining("is not mapped");
            allocator.destroy();
        }
    }

    @Test
    void threadsShareAndFreeAtOnce() throws Exception {
        final Allocator allocator = allocator(Kind.BEST_FIT, Map.of());
        final Callable<Void> work = () -> {
            for (int i = 0; i < 30; i++) {
                final long reserve = filled(allocator, i % 3);
                paged(allocator).share(reserve);
                requireBytes(reserve, i % 3);
                allocator.free(reserve);
            }
            return null;
        };
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            for (final Future<Void> done : threads.invokeAll(Collections.nCopies(2, work))) {
                done.get();
            }
        }
        assertThat(allocator.stats().bytesInUse()).isZero();
        assertThat(paged(allocator).sharedBytes()).isZero();
    }
}
