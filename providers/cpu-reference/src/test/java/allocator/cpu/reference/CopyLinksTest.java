package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import allocator.arena.BfcArena;
import allocator.provider.support.BlockLedger;
import allocator.provider.support.platform.Platform;
import allocator.spi.Allocator;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.OwnJvm;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Copies that processes find by links; each user of them here stands for a process. */
@EnabledOnOs(value = OS.LINUX, disabledReason = "pages of the host are mapped on Linux only")
class CopyLinksTest {
    private static final long SIZE = (1 << 17) + 1000;
    private static final long FILE_SIZE = HostHeap.wholePages(SIZE);

    @TempDir
    private Path parent;

    private final LinuxCalls linux = HostPages.nativeCalls(Platform.current());
    private final Deque<Runnable> beforeSeals = new ArrayDeque<>();
    private final Deque<Runnable> beforeMunmaps = new ArrayDeque<>();
    private final Deque<Runnable> beforeCloses = new ArrayDeque<>();
    private final List<User> users = new ArrayList<>();
    private final List<Integer> files = new ArrayList<>();

    /** Has blocks and finds copies as a process does. */
    private final class User {
        private final SharedPages pages = new SharedPages(
                (LinuxCalls) Proxy.newProxyInstance(
                        LinuxCalls.class.getClassLoader(),
                        new Class<?>[] {LinuxCalls.class},
                        (proxy, method, arguments) -> {
                            final Deque<Runnable> before = switch (method.getName()) {
                                case "fcntl" -> beforeSeals;
                                case "munmap" -> beforeMunmaps;
                                case "close" -> beforeCloses;
                                default -> new ArrayDeque<>();
                            };
                            if (!before.isEmpty()) {
                                before.pop().run();
                            }
                            return method.invoke(linux, arguments);
                        }),
                HostPagesContract.MEMORY,
                ProcessMappings.PROCESS,
                new CopyLinks(parent));
        private final List<Long> blocks = new ArrayList<>();

        User() {
            users.add(this);
        }

        /** Returns the address of a new block. */
        long filled(int seed) {
            final long address = HostHeap.allocate(64, SIZE);
            blocks.add(address);
            HostHeap.segment(address, SIZE).copyFrom(pattern(seed));
            return address;
        }

        long shared(int seed) {
            final long address = filled(seed);
            pages.share(address, SIZE);
            assertThat(HostHeap.segment(address, SIZE).mismatch(pattern(seed))).isEqualTo(-1);
            return address;
        }

        void close() {
            for (final long block : blocks) {
                pages.leave(block);
                HostHeap.free(block, SIZE);
            }
            blocks.clear();
            assertThat(pages.savedBytes()).isZero();
        }
    }

    @AfterEach
    void nothingIsLeft() throws IOException {
        users.forEach(User::close);
        files.forEach(linux::close);
        try (Stream<Path> all = Files.walk(parent)) {
            assertThat(all.filter(Files::isSymbolicLink)).isEmpty();
        }
        assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain("memfd:java.allocator");
    }

    private static MemorySegment pattern(int seed) {
        final byte[] pattern = new byte[(int) SIZE];
        new Random(seed).nextBytes(pattern);
        return MemorySegment.ofArray(pattern);
    }

    /** Returns the number of the file that is mapped at an address. */
    private static String fileAt(long address) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.startsWith(Long.toHexString(address) + "-"))
                    .map(line -> line.split(" +", -1)[4])
                    .findFirst()
                    .orElseThrow();
        }
    }

    private List<Path> links() throws IOException {
        try (Stream<Path> folders = Files.list(parent);
                Stream<Path> links = Files.list(folders.findFirst().orElseThrow())) {
            return links.toList();
        }
    }

    /** Puts a link to another target in place of that to some bytes, and returns it. */
    private Path replaced(int seed, String target) throws IOException {
        final User first = new User();
        first.shared(seed);
        final Path link = links().getFirst();
        first.close();
        return Files.createSymbolicLink(link, Path.of(target));
    }

    /** Returns the path of a new file of memory with some bytes. */
    private String memory(int seed, long byteSize, int seals) throws IOException {
        final int file = HostFile.open(linux);
        files.add(file);
        linux.ftruncate(file, byteSize);
        final long mapped =
                linux.mmap(0, byteSize, LinuxCalls.PROT_READ | LinuxCalls.PROT_WRITE, LinuxCalls.MAP_SHARED, file, 0);
        HostHeap.segment(mapped, SIZE).copyFrom(pattern(seed));
        linux.munmap(mapped, byteSize);
        assertThat(linux.fcntl(file, LinuxCalls.F_ADD_SEALS, seals)).isZero();
        return ofProcess(file);
    }

    private static String ofProcess(int file) {
        return "/proc/" + ProcessHandle.current().pid() + "/fd/" + file;
    }

    @Test
    void equalBlocksOfProcessesHaveOneFile() throws IOException {
        final User first = new User();
        final User second = new User();
        final String file = fileAt(first.shared(1));
        assertThat(fileAt(second.shared(1))).isEqualTo(file);
        assertThat(fileAt(second.shared(1))).isEqualTo(file);
        assertThat(fileAt(second.shared(2))).isNotEqualTo(file);
        assertThat(second.pages.savedBytes()).isEqualTo(SIZE);
        assertThat(links()).hasSize(2);
    }

    @Test
    void aWriteIsSeenInItsOwnBlockOnly() {
        final long read = new User().shared(1);
        final long written = new User().shared(1);
        HostHeap.segment(written, SIZE).fill((byte) 0);
        assertThat(HostHeap.segment(read, SIZE).mismatch(pattern(1))).isEqualTo(-1);
        new User().shared(1);
    }

    @Test
    void aCopyCannotBeChangedByItsDescriptor() throws IOException {
        new User().shared(1);
        final Path link = links().getFirst();
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> Files.write(link, new byte[] {1}));
    }

    @Test
    void processesThatMakeACopyAtTheSameTimeHaveOne() throws IOException {
        final User first = new User();
        final User second = new User();
        final List<Long> others = new ArrayList<>();
        beforeSeals.push(() -> others.add(second.shared(1)));
        final long block = first.shared(1);
        assertThat(fileAt(block)).isEqualTo(fileAt(others.getFirst()));
    }

    @Test
    void theNextBlockOfAnotherProcessMakesItsLinkInPlaceOfOneThatHasEnded() throws IOException {
        final User first = new User();
        final User second = new User();
        first.shared(1);
        final String file = fileAt(second.shared(1));
        first.close();
        assertThat(links()).isEmpty();
        second.shared(1);
        assertThat(fileAt(new User().shared(1))).isEqualTo(file);
    }

    @Test
    void aLinkIsRemovedByTheProcessWhoseItIs() throws IOException {
        final User first = new User();
        final User second = new User();
        first.shared(1);
        second.shared(1);
        second.close();
        assertThat(links()).hasSize(1);
        first.close();
        assertThat(links()).isEmpty();
    }

    /** The number of the descriptor may be another file's from then on. */
    @Test
    void aLinkIsRemovedBeforeItsFileIsClosed() throws IOException {
        final User user = new User();
        user.shared(1);
        final List<Path> left = new ArrayList<>();
        beforeCloses.push(() -> {
            try {
                left.addAll(links());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        user.close();
        assertThat(beforeCloses).isEmpty();
        assertThat(left).isEmpty();
    }

    @Test
    void aCopyWhoseEndFailsIsClosedOnceAndNoBlockHasItAgain() throws IOException {
        final User user = new User();
        final long block = user.shared(1);
        final List<Integer> closed = new ArrayList<>();
        beforeCloses.push(() -> closed.add(1));
        beforeMunmaps.push(() -> {
            throw new StackOverflowError("as tests plant it");
        });
        assertThatExceptionOfType(StackOverflowError.class).isThrownBy(() -> user.pages.leave(block));
        assertThat(closed).hasSize(1);
        assertThat(links()).isEmpty();
        final int other = (int) linux.open("/proc/self/maps"); // has the number of the copy
        files.add(other);
        user.shared(1);
        assertThat(Files.readSymbolicLink(Path.of("/proc/self/fd/" + other)).toString())
                .endsWith("/maps");
        user.close();
        unmapAll();
    }

    /** Ends the mapping of the copy whose end has failed. */
    private void unmapAll() throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            lines.filter(line -> line.contains("memfd:java.allocator")).forEach(line -> {
                final long start = Long.parseLong(line.substring(0, line.indexOf('-')), 16);
                linux.munmap(start, FILE_SIZE);
            });
        }
    }

    @Test
    void aBlockMayBeLargerThanABuffer() throws IOException {
        final long byteSize = 3L << 30;
        final int flags = LinuxCalls.MAP_PRIVATE | LinuxCalls.MAP_ANONYMOUS | LinuxCalls.MAP_NORESERVE;
        final long address = linux.mmap(0, byteSize, LinuxCalls.PROT_READ, flags, HostFile.NONE, 0);
        try {
            assertThat(new CopyLinks(parent).of(HostHeap.segment(address, byteSize)))
                    .asString()
                    .contains("/" + byteSize + "-");
        } finally {
            linux.munmap(address, byteSize);
        }
    }

    /** Shares blocks until that is rejected, and then opens files. */
    static final class Program {
        private Program() {}

        public static void main(String[] args) throws IOException {
            final SharedPages pages = new SharedPages(
                    HostPages.nativeCalls(Platform.current()),
                    new MemoryInfo(
                            "Cpu",
                            new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT),
                            64,
                            AllocatorType.DEVICE),
                    ProcessMappings.PROCESS,
                    args[0].isEmpty() ? null : new CopyLinks(Path.of(args[0])));
            String rejected = "nothing";
            for (int i = 0; i < 1000 && rejected.equals("nothing"); i++) {
                final long block = HostHeap.allocate(64, SIZE);
                HostHeap.segment(block, SIZE).set(ValueLayout.JAVA_INT, 0, i);
                try {
                    pages.share(block, SIZE);
                } catch (DeviceException e) {
                    rejected = e.getMessage();
                }
            }
            int open = 0;
            for (; open < 50; open++) {
                final InputStream ignored = Files.newInputStream(Path.of("/dev/null"));
            }
            System.out.println(rejected + ", " + open + " files");
            System.exit(0);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void copiesLeaveDescriptorsToTheProgram(boolean areFoundByOthers) throws Exception {
        final Process process = new ProcessBuilder(
                        "sh",
                        "-c",
                        "ulimit -n 256; exec \"$@\"",
                        "sh",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:-UsePerfData",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        OwnJvm.path(List.of(
                                CopyLinksTest.class,
                                CpuReferenceFactory.class,
                                BfcArena.class,
                                Allocator.class,
                                BlockLedger.class)),
                        Program.class.getName(),
                        areFoundByOthers ? parent.toString() : "")
                .redirectErrorStream(true)
                .start();
        final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(output).contains("raise ulimit -n, 50 files");
        if (areFoundByOthers) {
            for (final Path link : links()) {
                Files.delete(link);
            }
        }
    }

    @Test
    void aLinkToWhatIsNoCopyIsReplaced() throws IOException {
        final int other = (int) linux.open("/proc/self/maps");
        files.add(other);
        for (final String target : List.of("/proc/4194304/fd/7", ofProcess(4096), ofProcess(other), "/dev/null")) {
            final Path link = replaced(1, target);
            final User user = new User();
            user.shared(1);
            assertThat(Files.readSymbolicLink(link).toString()).isNotEqualTo(target);
            assertThat(fileAt(new User().shared(1))).isEqualTo(fileAt(user.blocks.getFirst()));
            users.forEach(User::close);
        }
    }

    @Test
    void aFileThatMayChangeOrHasOtherBytesIsNotShared() throws IOException {
        final List<String> targets = List.of(
                memory(1, FILE_SIZE, 0),
                memory(1, FILE_SIZE, LinuxCalls.ALL_SEALS & ~8), // may be written
                memory(1, FILE_SIZE, LinuxCalls.ALL_SEALS & ~2), // may shrink
                memory(1, FILE_SIZE + HostHeap.MAPPED_FROM, LinuxCalls.ALL_SEALS),
                memory(2, FILE_SIZE, LinuxCalls.ALL_SEALS)); // as with the same checksum
        for (final String target : targets) {
            final Path link = replaced(1, target);
            final User user = new User();
            final long block = user.shared(1);
            assertThat(fileAt(block)).isNotEqualTo(inode(target));
            assertThat(fileAt(user.shared(1))).isEqualTo(fileAt(block));
            user.close();
            Files.delete(link);
        }
        final Path link = replaced(1, memory(1, FILE_SIZE, LinuxCalls.ALL_SEALS));
        assertThat(fileAt(new User().shared(1)))
                .isEqualTo(inode(Files.readSymbolicLink(link).toString()));
        Files.delete(link);
    }

    private static String inode(String file) throws IOException {
        return Files.getAttribute(Path.of(file), "unix:ino").toString();
    }

    @Test
    void linksOfProcessesThatHaveEndedAreRemovedByTheNextOne() throws IOException {
        final Path stale = replaced(1, "/proc/4194304/fd/7");
        final Path live = Files.createSymbolicLink(
                stale.resolveSibling("65536-0"), Path.of(memory(1, FILE_SIZE, LinuxCalls.ALL_SEALS)));
        new User().shared(2);
        assertThat(links()).hasSize(2).contains(live).doesNotContain(stale);
        Files.delete(live);
    }

    private void requireOwnCopies(String reason) throws IOException {
        final User user = new User();
        final long block = user.filled(1);
        assertThatExceptionOfType(UnsupportedMemoryException.class)
                .isThrownBy(() -> user.pages.share(block, SIZE))
                .withMessageContaining(reason);
        user.pages.share(block, SIZE);
        assertThat(fileAt(user.shared(1))).isEqualTo(fileAt(block));
        assertThat(user.pages.savedBytes()).isEqualTo(SIZE);
    }

    private Path folder() throws IOException {
        new User().shared(1);
        users.forEach(User::close);
        try (Stream<Path> folders = Files.list(parent)) {
            return folders.findFirst().orElseThrow();
        }
    }

    @Test
    void aFolderThatOthersMayReadIsNotUsed() throws IOException {
        Files.setPosixFilePermissions(folder(), PosixFilePermissions.fromString("rwxr-xr-x"));
        requireOwnCopies("is not a folder of the user");
    }

    @Test
    void aFolderOfAnotherOwnerIsNotUsed() throws IOException {
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can give a folder away");
        Files.setAttribute(folder(), "unix:uid", 12345);
        requireOwnCopies("uid=12345");
    }

    @Test
    void aLinkInPlaceOfTheFolderIsNotUsed() throws IOException {
        final Path folder = folder();
        final Path elsewhere = Files.move(folder, parent.resolve("elsewhere"));
        Files.createSymbolicLink(folder, elsewhere);
        requireOwnCopies("is not a folder of the user");
        assertThat(Files.readAttributes(folder, "isSymbolicLink", LinkOption.NOFOLLOW_LINKS))
                .containsEntry("isSymbolicLink", true);
        Files.delete(folder);
    }

    @Test
    void withoutAPlaceForTheFolderOrWhenItIsGoneTheReasonIsSaid() throws IOException {
        final Path folder = folder();
        final User user = new User();
        user.shared(1);
        Files.delete(links().getFirst());
        Files.delete(folder);
        final long block = user.filled(2);
        assertThatExceptionOfType(UnsupportedMemoryException.class)
                .isThrownBy(() -> user.pages.share(block, SIZE))
                .withMessageContaining("NoSuchFileException: " + folder);
        assertThat(user.pages.savedBytes()).isZero(); // the copy that could not be linked has ended
        user.pages.share(block, SIZE);
        user.shared(1);
        assertThat(HostHeap.segment(block, SIZE).get(ValueLayout.JAVA_BYTE, 0))
                .isEqualTo(pattern(2).get(ValueLayout.JAVA_BYTE, 0));
        Files.delete(parent);
        requireOwnCopies("NoSuchFileException");
        Files.createDirectory(parent);
    }
}
