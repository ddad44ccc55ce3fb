package allocator.cpu.reference;

import static allocator.cpu.reference.HostPagesContract.MAPPINGS;
import static allocator.cpu.reference.HostPagesContract.MEMORY;
import static allocator.cpu.reference.HostPagesContract.fewMappings;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assumptions.assumeThat;

import allocator.cpu.reference.HostPagesContract.Errno;
import allocator.provider.support.platform.Platform;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.FaultyCalls;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

// One class, since its groups share the calls that fail on demand and what the process says of its mappings.
class HostPagesTest {
    private static final long PAGE = HostPages.DEFAULT_PAGE_BYTES;

    @Nested
    class OfTheDefaultSize extends HostPagesContract {
        OfTheDefaultSize() {
            super(PAGE);
        }
    }

    @Nested
    class Large extends HostPagesContract {
        Large() {
            super(2 << 20);
        }
    }

    /** What is particular to Linux. */
    @Nested
    @EnabledOnOs(value = OS.LINUX, disabledReason = "pages of the host are mapped on Linux only")
    class OnLinux {
        private static final int EPERM = 1;
        private static final int PAGES = 64;

        private final FaultyCalls calls = new FaultyCalls();
        private final LinuxCalls linux = HostPagesContract.faulty(calls, Long.MAX_VALUE);
        private final HostPages pages = new HostPages(MEMORY, PAGE, linux, fewMappings());

        @AfterEach
        void close() {
            pages.close();
            assertThat(memoryFiles()).isEmpty();
            assertThat(lines("/proc/self/maps").filter(line -> line.contains("memfd:java.allocator")))
                    .isEmpty();
        }

        /** The files of page sources that this process has open. */
        private static List<Path> memoryFiles() {
            try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
                return files.filter(OnLinux::isOfPages).toList();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static boolean isOfPages(Path descriptor) {
            try {
                return Files.readSymbolicLink(descriptor).toString().contains("memfd:java.allocator");
            } catch (IOException e) {
                return false; // the one that lists the others is closed
            }
        }

        private static Stream<String> lines(String file) {
            try {
                return Files.readAllLines(Path.of(file)).stream();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** The bytes of shared memory that are mapped and resident. */
        private static long residentBytes() {
            return lines("/proc/self/status")
                    .filter(line -> line.startsWith("RssShmem:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                    .sum();
        }

        private static long fileBytes() throws IOException {
            return Files.size(memoryFiles().getFirst());
        }

        private void fill(long address) {
            HostHeap.segment(address, PAGE).fill((byte) 1);
        }

        private boolean isZero(long address) {
            return HostHeap.segment(address, PAGE)
                    .elements(ValueLayout.JAVA_LONG)
                    .allMatch(element -> element.get(ValueLayout.JAVA_LONG, 0) == 0);
        }

        @Test
        void aReleasedPageIsNotResident() throws IOException {
            final long before = residentBytes();
            final long range = pages.reserve(PAGES * PAGE);
            final List<Long> created = new ArrayList<>();
            for (int i = 0; i < PAGES; i++) {
                created.add(pages.create(1));
                pages.map(range + i * PAGE, created.get(i));
                fill(range + i * PAGE);
            }
            assertThat(residentBytes() - before).isBetween(PAGES * PAGE, PAGES * PAGE + (1 << 20));
            for (int i = 1; i < PAGES; i++) {
                pages.unmap(range + i * PAGE);
                pages.release(created.get(i));
            }
            assertThat(residentBytes() - before).isBetween(PAGE, 2 * PAGE);
            assertThat(fileBytes()).isEqualTo(PAGE);
            pages.unmap(range);
            pages.release(created.getFirst());
            assertThat(fileBytes()).isZero();
        }

        private void mapAndFill(long range) {
            for (int i = 0; i < PAGES; i++) {
                pages.map(range + i * PAGE, pages.create(1));
                fill(range + i * PAGE);
            }
        }

        /** Each of them once more, behind the first mappings. */
        private void mapAgain(long range) {
            for (int i = 0; i < PAGES; i++) {
                pages.map(range + (PAGES + i) * PAGE, i);
            }
        }

        private static boolean canMove() {
            return NativeLinuxCalls.isFrom(5, 13, System.getProperty("os.version"));
        }

        /** A fault for each of the system's pages costs more than the call. */
        @Test
        void aUsedPageThatIsMappedElsewhereIsResidentThere() {
            assumeThat(canMove()).isTrue();
            final long range = pages.reserve(2 * PAGES * PAGE);
            final long before = residentBytes();
            mapAndFill(range);
            final long once = residentBytes();
            mapAgain(range);
            assertThat(once - before).isGreaterThanOrEqualTo(PAGES * PAGE);
            assertThat(residentBytes()).isBetween(once - PAGE, once + PAGE);
            for (int i = 0; i < PAGES; i++) {
                assertThat(isZero(range + (PAGES + i) * PAGE)).isFalse();
            }
            assertThat(residentBytes()).isBetween(once - PAGE, once + PAGE);
        }

        /** The mapping that was moved from finds its memory again. */
        @Test
        void bothMappingsSeeTheSameMemory() {
            final long range = pages.reserve(2 * PAGES * PAGE);
            mapAndFill(range);
            mapAgain(range);
            for (int i = 0; i < PAGES; i++) {
                HostHeap.segment(range + (PAGES + i) * PAGE, PAGE).fill((byte) 0);
                assertThat(isZero(range + i * PAGE)).isTrue();
                fill(range + i * PAGE);
                assertThat(isZero(range + (PAGES + i) * PAGE)).isFalse();
            }
        }

        /** A page that is mapped nowhere keeps its entries as well. */
        @Test
        void aUsedPageThatWasMappedNowhereIsResidentAgainAtOnce() {
            assumeThat(canMove()).isTrue();
            final long range = pages.reserve(2 * PAGES * PAGE);
            mapAndFill(range);
            final long once = residentBytes();
            for (int i = 0; i < PAGES; i++) {
                pages.unmap(range + i * PAGE);
            }
            mapAgain(range);
            assertThat(residentBytes()).isBetween(once - PAGE, once + PAGE);
            for (int i = 0; i < PAGES; i++) {
                assertThat(isZero(range + (PAGES + i) * PAGE)).isFalse();
            }
            assertThat(residentBytes()).isBetween(once - PAGE, once + PAGE);
        }

        /** Parked or not, a released page is gone, and one of that number is another one. */
        @Test
        void aParkedPageIsReleased() throws IOException {
            final long range = pages.reserve(2 * PAGES * PAGE);
            final long before = residentBytes();
            mapAndFill(range);
            for (int i = 0; i < PAGES; i++) {
                pages.unmap(range + i * PAGE);
                pages.release(i);
            }
            assertThat(fileBytes()).isZero();
            assertThat(residentBytes()).isBetween(before - PAGE, before + PAGE);
            for (int i = 0; i < 2 * PAGES; i++) {
                pages.map(range + i * PAGE, pages.create(1));
                assertThat(isZero(range + i * PAGE)).isTrue();
            }
        }

        /** Before Linux 5.13. */
        @Test
        void aUsedPageThatCannotBeMovedIsResidentWhereverItIsMapped() {
            final HostPages older = new HostPages(MEMORY, PAGE, recorded(new ArrayList<>(), false), fewMappings());
            final long range = older.reserve(3 * PAGES * PAGE);
            for (int i = 0; i < PAGES; i++) {
                older.map(range + i * PAGE, older.create(1));
                fill(range + i * PAGE);
            }
            final long once = residentBytes();
            for (int i = 0; i < PAGES; i++) {
                older.map(range + (PAGES + i) * PAGE, i);
            }
            assertThat(residentBytes() - once).isGreaterThanOrEqualTo(PAGES * PAGE);
            for (int i = 0; i < PAGES; i++) {
                older.unmap(range + (PAGES + i) * PAGE);
                older.unmap(range + i * PAGE);
                older.map(range + (2 * PAGES + i) * PAGE, i);
            }
            assertThat(residentBytes()).isBetween(once - PAGE, once + PAGE);
            older.close();
        }

        /** The addresses may belong to another part of the process by then. */
        @Test
        void nothingIsMovedFromARangeThatIsNoMoreReserved() {
            final List<String> made = new ArrayList<>();
            final HostPages other = new HostPages(MEMORY, PAGE, recorded(made, canMove()), fewMappings());
            final long first = other.reserve(PAGE);
            final long page = other.create(1);
            other.map(first, page);
            other.unreserve(first, PAGE);
            final long second = other.reserve(PAGE);
            made.clear();
            other.map(second, page);
            assertThat(made).containsExactly("mmap");
            other.close();
        }

        /** The calls of the system, and what was called; without moves those of an older one. */
        private static LinuxCalls recorded(List<String> made, boolean canMove) {
            final LinuxCalls linux = HostPages.nativeCalls(Platform.current());
            return (LinuxCalls) Proxy.newProxyInstance(
                    LinuxCalls.class.getClassLoader(),
                    new Class<?>[] {LinuxCalls.class},
                    (proxy, method, arguments) -> {
                        made.add(method.getName());
                        return method.getName().equals("mremap") && !canMove
                                ? (Object) (-(long) LinuxCalls.ENOSYS)
                                : method.invoke(linux, arguments);
                    });
        }

        /** Where there is no room for them, entries are dropped and made again. */
        @Test
        void pagesAreParkedInFewMappings() {
            final long range = pages.reserve(2 * MAPPINGS * PAGE);
            for (int i = 0; i < MAPPINGS; i++) {
                pages.map(range + i * PAGE, pages.create(1));
                fill(range + i * PAGE);
            }
            for (int i = 0; i < MAPPINGS; i += 2) {
                pages.unmap(range + i * PAGE);
            }
            assertThat(mappings()).isLessThan(3 * MAPPINGS / 4);
            for (int i = 0; i < MAPPINGS; i += 2) {
                pages.map(range + i * PAGE, i);
                assertThat(isZero(range + i * PAGE)).isFalse();
            }
        }

        @Test
        void theReleaseOfTheSystemIsRead() {
            assertThat(NativeLinuxCalls.isFrom(5, 13, "5.13.0")).isTrue();
            assertThat(NativeLinuxCalls.isFrom(5, 13, "6.1.0-18-amd64")).isTrue();
            assertThat(NativeLinuxCalls.isFrom(5, 13, "10.0")).isTrue();
            assertThat(NativeLinuxCalls.isFrom(5, 13, "5.12.19")).isFalse();
            assertThat(NativeLinuxCalls.isFrom(5, 13, "4.19.0")).isFalse();
            assertThat(NativeLinuxCalls.isFrom(5, 13, "6")).isFalse();
            assertThat(NativeLinuxCalls.isFrom(5, 13, "unknown")).isFalse();
            assertThat(NativeLinuxCalls.isFrom(5, 13, "")).isFalse();
        }

        /** The system has taken the memory back: nothing of the contents is left. */
        @Test
        void aReleasedPageIsAHole() throws IOException {
            final long range = pages.reserve(2 * PAGE);
            final long first = pages.create(1);
            final long last = pages.create(1);
            pages.map(range, first);
            pages.map(range + PAGE, last);
            fill(range);
            fill(range + PAGE);
            pages.unmap(range);
            pages.release(first);
            assertThat(fileBytes()).isEqualTo(2 * PAGE);
            assertThat(pages.create(1)).isEqualTo(first);
            pages.map(range, first);
            assertThat(isZero(range)).isTrue();
            assertThat(isZero(range + PAGE)).isFalse();
        }

        @Test
        void theLowestReleasedNumberIsReusedAndTheFileEndsWithTheLastPage() throws IOException {
            for (int page = 0; page < 6; page++) {
                assertThat(pages.create(1)).isEqualTo(page);
            }
            for (long page : new long[] {4, 1, 3}) {
                pages.release(page);
            }
            assertThat(fileBytes()).isEqualTo(6 * PAGE);
            assertThat(pages.create(1)).isEqualTo(1);
            assertThat(pages.create(1)).isEqualTo(3);
            pages.release(3);
            pages.release(5);
            assertThat(fileBytes()).isEqualTo(3 * PAGE);
            assertThat(pages.create(1)).isEqualTo(3);
            assertThat(pages).hasToString("4 pages of 262144 bytes and 0 ranges of " + MEMORY);
        }

        @Test
        void anExtentTakesTheLowestPagesSideBySide() throws IOException {
            final long[] created = {pages.create(2), pages.create(3), pages.create(1)};
            assertThat(created).containsExactly(0, 2, 5);
            pages.release(2);
            assertThat(pages.create(4)).isEqualTo(6);
            assertThat(fileBytes()).isEqualTo(10 * PAGE);
            assertThat(pages.create(2)).isEqualTo(2);
            assertThat(pages.create(2)).isEqualTo(10);
            assertThat(pages.create(1)).isEqualTo(4);
            pages.release(10);
            pages.release(6);
            assertThat(fileBytes()).isEqualTo(6 * PAGE);
        }

        @Test
        void anExtentIsOneMapping() {
            final long range = pages.reserve(PAGES * PAGE);
            final long before = mappings();
            pages.create(1);
            final long extent = pages.create(5);
            pages.map(range, extent);
            pages.map(range + 7 * PAGE, extent);
            assertThat(mappings()).isEqualTo(before + 2);
            assertThatIllegalArgumentException().isThrownBy(() -> pages.unmap(range + PAGE));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.map(range + 5 * PAGE, extent));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.map(range + (PAGES - 4) * PAGE, extent));
            pages.unmap(range);
            assertThat(mappings()).isEqualTo(before + 1);
        }

        @Test
        void theLastPageSurvivesAFailureToReleaseIt() {
            final long page = pages.create(1);
            calls.failAt(calls.calls() + 1, false, () -> new Errno(LinuxCalls.ENOMEM));
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> pages.release(page))
                    .withMessage("ftruncate failed with errno 12");
            final long range = pages.reserve(PAGE);
            pages.map(range, page);
            fill(range);
            pages.unmap(range);
            pages.release(page);
        }

        @Test
        void aSystemWithoutMappingsIsExplained() {
            final long range = pages.reserve(PAGE);
            final long page = pages.create(1);
            calls.failAt(calls.calls() + 1, false, () -> new Errno(LinuxCalls.ENOMEM));
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> pages.map(range, page))
                    .withMessageContainingAll(
                            "mmap failed with errno 12",
                            "vm.max_map_count is 400",
                            "sysctl -w vm.max_map_count",
                            "fewer and larger");
        }

        /** One page, again and again, is as many mappings. */
        @Test
        void theJvmKeepsAQuarterOfTheMappings() {
            final long range = pages.reserve(2 * MAPPINGS * PAGE);
            final long page = pages.create(1);
            final AtomicInteger mapped = new AtomicInteger();
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> {
                        while (mapped.get() < MAPPINGS) {
                            pages.map(range + mapped.get() * PAGE, page);
                            mapped.incrementAndGet();
                        }
                    })
                    .withMessageContainingAll("three quarters", "vm.max_map_count is 400", "fewer and larger");
            assertThat(mapped).hasValueBetween(270, 305); // the JVM maps as well
            for (int i = 0; i < 100; i++) {
                pages.unmap(range + i * PAGE);
            }
            pages.map(range + 50 * PAGE, page);
            pages.unreserve(range, 2 * MAPPINGS * PAGE);
        }

        @Test
        void theLimitOfMappingsIsReadAsAWhole() {
            assertThat(ProcessMappings.limit()).isGreaterThan(1000);
        }

        @Test
        void neighboursOfTheFileAreOneMapping() {
            final long range = pages.reserve(2 * MAPPINGS * PAGE);
            final long before = mappings();
            for (int i = 0; i < MAPPINGS; i++) {
                pages.map(range + i * PAGE, pages.create(1));
            }
            assertThat(mappings()).isEqualTo(before + 1);
        }

        private static long mappings() {
            return lines("/proc/self/maps")
                    .filter(line -> line.contains("memfd:java.allocator"))
                    .count();
        }

        @Test
        void aPageIsNotMappedWhereOneIs() {
            final long range = pages.reserve(PAGE);
            final long page = pages.create(1);
            pages.map(range, page);
            assertThatIllegalArgumentException().isThrownBy(() -> pages.map(range, page));
            pages.unmap(range);
            pages.map(range, page);
        }

        @Test
        void aSystemThatRefusesTheFileIsNamed() {
            calls.failAt(calls.calls() + 3, true, () -> new Errno(EPERM));
            assertThatExceptionOfType(UnsupportedMemoryException.class)
                    .isThrownBy(() -> new HostPages(MEMORY, PAGE, linux, fewMappings()))
                    .withMessageContainingAll("memfd_create", "errno 1", "arena.policy=best-fit works");
            calls.stop();
        }

        @Test
        void anOlderSystemDoesNotKnowFilesThatAreNeverExecuted() {
            calls.failAt(calls.calls() + 3, false, () -> new Errno(LinuxCalls.EINVAL));
            final HostPages other = new HostPages(MEMORY, PAGE, linux, fewMappings());
            other.release(other.create(1));
            other.close();
        }

        @Test
        void aSourceThatCannotBePreparedLeavesNothing() {
            final long before = lines("/proc/self/maps").count();
            calls.failAt(calls.calls() + 4, false, () -> new Errno(LinuxCalls.ENOMEM));
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> new HostPages(MEMORY, PAGE, linux, fewMappings()));
            calls.failAt(calls.calls() + 9, false, () -> new Errno(LinuxCalls.ENOMEM));
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> new HostPages(MEMORY, PAGE, linux, fewMappings()));
            assertThat(memoryFiles()).hasSize(1);
            assertThat(lines("/proc/self/maps").count()).isLessThan(before + 50);
        }

        @Test
        void aPageIsAPowerOfTwoAndNoSmallerThanTheSystemsSize() {
            for (long size : new long[] {0, -1, 2048, 3 * 4096, Long.MIN_VALUE}) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> new HostPages(MEMORY, size, Platform.current()))
                        .withMessageContaining("a page of " + size + " bytes");
            }
        }

        /** What is mapped replaces what was there, and what is behind the end of the file cannot be touched. */
        @Test
        void otherMemoryOfTheProcessIsLeftAlone() {
            final long range = pages.reserve(2 * PAGE);
            final long page = pages.create(1);
            assertThatIllegalArgumentException().isThrownBy(() -> pages.map(range - PAGE, page));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.map(range + 2 * PAGE, page));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.map(range + 4096, page));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.map(range, page + 1));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.map(range, -1));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.unmap(range - PAGE));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.unreserve(range, PAGE));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.release(page + 1));
        }

        @Test
        void aCloseThatFailsCanBeRepeated() {
            final long range = pages.reserve(2 * PAGE);
            pages.map(range, pages.create(1));
            pages.reserve(PAGE);
            fill(range);
            calls.failAt(calls.calls() + 1, true, () -> new Errno(LinuxCalls.ENOMEM));
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(pages::close)
                    .withMessageContaining("munmap failed");
            calls.stop();
            pages.close();
            assertThatIllegalStateException().isThrownBy(() -> pages.create(1));
            assertThatIllegalStateException().isThrownBy(() -> pages.reserve(PAGE));
        }
    }
}
