package allocator.cpu.reference;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * How processes of one user find each other's copies: by symbolic links {@code SIZE-CHECKSUM}, in a folder of the user,
 * to descriptors of processes, {@code /proc/PID/fd/N}, so that opening one opens the file. A link promises nothing: its
 * process may have been killed, and the numbers be those of others now. A file is taken for a copy only if it is sealed
 * memory of the right size; the caller compares its bytes.
 */
final class CopyLinks {
    private static final Path PROCESS = Path.of("/proc/self");

    private final Path parent;
    private @Nullable Path folder;

    /** @param parent has the folders of all users */
    CopyLinks(Path parent) {
        this.parent = parent;
    }

    /**
     * Returns the link to a block's bytes, of which up to a GiB is read. The first call makes the folder, and removes
     * links that lead nowhere.
     *
     * @throws IOException if that fails, or the folder is not the user's alone
     */
    Path of(MemorySegment block) throws IOException {
        if (folder == null) {
            folder = folder();
        }
        final CRC32C sum = new CRC32C();
        sum.update(block.asSlice(0, Math.min(block.byteSize(), 1 << 30)).asByteBuffer());
        return folder.resolve(block.byteSize() + "-" + Long.toHexString(sum.getValue()));
    }

    private Path folder() throws IOException {
        // /proc/self may have another owner. It has the process's name, in bytes of any kind.
        final String status = Files.readString(PROCESS.resolve("status"), StandardCharsets.ISO_8859_1);
        final int user = Integer.parseUnsignedInt(status.replaceAll("(?s).*\nUid:\t\\d+\t(\\d+).*", "$1"));
        final String space = String.valueOf(Files.readSymbolicLink(PROCESS.resolve("ns/pid"))); // of process numbers
        final Path made = parent.resolve("java.allocator-" + user + "-" + space.replaceAll("\\D", ""));
        try {
            Files.createDirectory(
                    made, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (FileAlreadyExistsException e) {
            // It may be that of another user.
        }
        final Map<String, Object> found = Files.readAttributes(made, "unix:uid,mode", LinkOption.NOFOLLOW_LINKS);
        if (!found.equals(Map.of("uid", user, "mode", 0x41C0))) { // a folder, of mode 0700
            throw new IOException(made + " is not a folder of the user " + user + " with mode 0700: " + found);
        }
        try (DirectoryStream<Path> links = Files.newDirectoryStream(made)) {
            for (final Path link : links) {
                isLive(link);
            }
        }
        return made;
    }

    /**
     * Returns whether a link leads to memory as of a copy: to open another file could have effects. Removes a link that
     * leads elsewhere, or nowhere, but none that may not be followed, as it may be another process's.
     */
    private static boolean isLive(Path link) throws IOException {
        final Path target;
        try {
            target = link.resolveSibling(Files.readSymbolicLink(link));
        } catch (FileSystemException e) {
            return false;
        }
        try {
            if (Files.readSymbolicLink(target).toString().startsWith("/memfd:java.allocator")) {
                return true;
            }
        } catch (AccessDeniedException e) {
            return false;
        } catch (FileSystemException e) {
            // Its process has ended.
        }
        Files.deleteIfExists(link);
        return false;
    }

    /** Opens the file of a link. Returns {@link HostFile#NONE} if that is no sealed file of memory of that size. */
    static int open(LinuxCalls linux, Path link, long byteSize) throws IOException {
        final long file = isLive(link) ? linux.open(link.toString()) : HostFile.NONE;
        final long seals = file < 0 ? 0 : linux.fcntl((int) file, LinuxCalls.F_GET_SEALS, 0);
        final boolean isSealed = seals > 0 && (seals & LinuxCalls.ALL_SEALS) == LinuxCalls.ALL_SEALS;
        if (isSealed && Files.size(PROCESS.resolve("fd/" + file)) == byteSize) {
            return (int) file;
        }
        if (file >= 0) {
            linux.close((int) file);
        }
        return HostFile.NONE;
    }

    /** Makes a link to a file of this process. Returns whether there was none to that of another. */
    static boolean add(Path link, int file) throws IOException {
        try {
            return !isLive(link) && Files.createSymbolicLink(link, target(file)).equals(link);
        } catch (FileAlreadyExistsException e) {
            return false;
        }
    }

    private static Path target(int file) {
        return Path.of("/proc/" + ProcessHandle.current().pid() + "/fd/" + file);
    }

    /** Removes a link to a file of this process, before that is closed: its number may be another file's then. */
    static void remove(Path link, int file) {
        try {
            if (Files.readSymbolicLink(link).equals(target(file))) {
                Files.delete(link);
            }
        } catch (IOException e) {
            // Another process has replaced it, or will find it stale.
        }
    }
}
