package allocator.cpu.reference;

import allocator.spi.AllocatorException;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.UnsupportedMemoryException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Blocks with one copy in a sealed file of memory, on Linux. It is mapped privately at each block's address, so a write
 * to a block copies the page: every block has the bytes that its owner expects, whatever the others write.
 *
 * <p>The first block of some bytes makes the copy and is mapped to it as well, so no block is another one's source. For
 * that moment the bytes exist twice. A block that leaves gets memory of its own, in which nothing is, and the last one
 * ends the copy. Each copy has a descriptor, and a mapping that is not written.
 *
 * <p>A block is compared with the copies of its size, up to the first byte that differs, which is near for weights: a
 * hash would read the block once more. With {@link CopyLinks} those of other processes follow.
 *
 * <p>Not safe for use by several threads. The caller sees to it that no block is freed or written during a call.
 */
final class SharedPages {
    /** The parts into which a block divides a mapping, and the copy's own. */
    private static final int MOST_MAPPINGS = 3;

    private static final int READ_AND_WRITE = LinuxCalls.PROT_READ | LinuxCalls.PROT_WRITE;
    private static final int IN_PLACE = LinuxCalls.MAP_PRIVATE | LinuxCalls.MAP_FIXED;

    private final LinuxCalls linux;
    private final MemoryInfo info;
    private final ProcessMappings mappings;

    /** {@code null} if copies are this process's alone, as after a failure. */
    private @Nullable CopyLinks links;

    /** By size. */
    private final Map<Long, List<Copy>> copies = new HashMap<>();

    /** By the block's address. */
    private final Map<Long, Copy> blocks = new HashMap<>();

    /** The greatest descriptor of a copy: others stay for the program. */
    private final long mostFiles = mostFiles();

    private long savedBytes;

    /** A file with bytes, and how many blocks have them. */
    private static final class Copy {
        private final long byteSize;
        private final int file;

        /** By which processes find it; {@code null} if they do not. */
        private final @Nullable Path link;

        private MemorySegment bytes = MemorySegment.NULL;
        private int users;

        Copy(long byteSize, int file, @Nullable Path link) {
            this.byteSize = byteSize;
            this.file = file;
            this.link = link;
        }

        long mappedBytes() {
            return HostHeap.wholePages(byteSize);
        }
    }

    SharedPages(LinuxCalls linux, MemoryInfo info, ProcessMappings mappings, @Nullable CopyLinks links) {
        this.linux = linux;
        this.info = info;
        this.mappings = mappings;
        this.links = links;
    }

    private static long mostFiles() {
        try {
            final String limits = Files.readString(Path.of("/proc/self/limits"));
            return Long.parseLong(limits.replaceAll("(?s).*Max open files +(\\d+).*", "$1")) / 4 * 3;
        } catch (IOException | NumberFormatException e) {
            return Long.MAX_VALUE; // unlimited, or not known
        }
    }

    /** Returns the bytes of all blocks, less those of the copies. */
    long savedBytes() {
        return savedBytes;
    }

    /**
     * Maps a block to the copy of its bytes, which is made if there is none, unless it is mapped to one.
     *
     * @throws AllocatorException if that fails; the block has its bytes, and memory of its own
     * @throws UnsupportedMemoryException if copies of other processes cannot be found: the next call looks for none
     */
    void share(long address, long byteSize) {
        if (blocks.containsKey(address)) {
            return;
        }
        if (!mappings.haveRoomFor(MOST_MAPPINGS)) {
            throw new OutOfMemoryException(
                    "Shared blocks would take more than three quarters of the process's mappings: " + mappings.advice(),
                    Shortage.ofDevice(info, byteSize, OutOfMemoryException.UNKNOWN));
        }
        final MemorySegment block = HostHeap.segment(address, byteSize);
        try {
            join(block, copyOf(block));
        } finally {
            List.copyOf(copies.getOrDefault(byteSize, List.of())).stream()
                    .filter(copy -> copy.users == 0) // as after a failure
                    .forEach(this::end);
        }
    }

    private Copy copyOf(MemorySegment block) {
        final CopyLinks used = links;
        links = null; // unless it succeeds
        try {
            Copy copy = copies.getOrDefault(block.byteSize(), List.of()).stream()
                    .filter(each -> each.bytes.mismatch(block) < 0)
                    .findFirst()
                    .orElse(null);
            if (copy != null && copy.link != null && used != null) {
                CopyLinks.add(copy.link, copy.file); // that of another process may have ended with it
            } else if (copy == null) {
                copy = used == null ? made(block, null) : foundOrMade(block, used.of(block));
            }
            links = used;
            return copy;
        } catch (IOException e) {
            throw new UnsupportedMemoryException("blocks of " + info + " have copies of this process alone: " + e);
        }
    }

    private Copy foundOrMade(MemorySegment block, Path link) throws IOException {
        Copy copy = found(block, link);
        if (copy == null) {
            copy = made(block, link);
            final Copy other = CopyLinks.add(link, copy.file) ? null : found(block, link);
            if (other != null) { // made at the same time
                end(copy);
                return other;
            }
        }
        return copy;
    }

    private @Nullable Copy found(MemorySegment block, Path link) throws IOException {
        final int file = CopyLinks.open(linux, link, HostHeap.wholePages(block.byteSize()));
        return file < 0 ? null : mapped(file, block, link, false);
    }

    private Copy made(MemorySegment block, @Nullable Path link) {
        return Objects.requireNonNull(mapped(HostFile.open(linux), block, link, true));
    }

    /** Maps a file, which is filled if it is new; closes it and returns {@code null} if it has not a block's bytes. */
    private @Nullable Copy mapped(int file, MemorySegment block, @Nullable Path link, boolean isNew) {
        final Copy copy = new Copy(block.byteSize(), file, link);
        savedBytes -= copy.byteSize;
        boolean isEqual = false;
        try {
            if (file > mostFiles) {
                throw new DeviceException(
                        "copies of shared weights, each with a descriptor, would take more than three quarters of the "
                                + "process's; raise ulimit -n",
                        null);
            }
            if (isNew) {
                require("ftruncate", linux.ftruncate(file, copy.mappedBytes()), copy);
                for (long done = 0; done < copy.byteSize; ) { // a mapping could not be sealed while a fork has it
                    done += require("write", linux.write(file, block.address() + done, copy.byteSize - done), copy);
                }
                final long sealed = link == null ? 0 : linux.fcntl(file, LinuxCalls.F_ADD_SEALS, LinuxCalls.ALL_SEALS);
                if (sealed < 0) {
                    throw new UnsupportedMemoryException("fcntl cannot seal memory for processes, errno " + -sealed);
                }
            }
            copy.bytes = HostHeap.segment(map(0, copy, LinuxCalls.PROT_READ, LinuxCalls.MAP_PRIVATE), copy.byteSize);
            mappings.add(1);
            isEqual = isNew || copy.bytes.mismatch(block) < 0;
            copies.computeIfAbsent(copy.byteSize, _ -> new ArrayList<>()).add(copy);
            return isEqual ? copy : null;
        } finally {
            if (!isEqual) {
                end(copy);
            }
        }
    }

    private void join(MemorySegment block, Copy copy) {
        blocks.put(block.address(), copy); // before the call, as the Java heap may end
        try {
            map(block.address(), copy, READ_AND_WRITE, IN_PLACE);
        } catch (Throwable e) {
            blocks.remove(block.address());
            if (mapOwn(block.address(), copy) >= 0) { // the system may have unmapped it before it failed
                block.copyFrom(copy.bytes);
            }
            throw e;
        }
        savedBytes += copy.byteSize;
        copy.users++;
        mappings.add(MOST_MAPPINGS - 1);
    }

    /** Maps a copy. Returns where. */
    private long map(long address, Copy copy, int protection, int flags) {
        return require("mmap", linux.mmap(address, copy.mappedBytes(), protection, flags, copy.file, 0), copy);
    }

    private long require(String call, long result, Copy copy) {
        return HostPages.require(info, mappings, call, result, copy.byteSize);
    }

    /** Maps memory of its own in place of a block. Returns what the system does. */
    private long mapOwn(long address, Copy copy) {
        final int flags = IN_PLACE | LinuxCalls.MAP_ANONYMOUS;
        return linux.mmap(address, copy.mappedBytes(), READ_AND_WRITE, flags, HostFile.NONE, 0);
    }

    /**
     * Gives a block memory of its own, without its bytes, if it has a copy with others.
     *
     * @throws AllocatorException if that fails: it has the copy then
     */
    void leave(long address) {
        final Copy copy = blocks.get(address);
        if (copy == null) {
            return;
        }
        require("mmap", mapOwn(address, copy), copy);
        blocks.remove(address);
        mappings.add(1 - MOST_MAPPINGS);
        copy.users--;
        savedBytes -= copy.byteSize;
        if (copy.users == 0) {
            end(copy);
        }
    }

    /** Ends a copy. Wherever the Java heap or the stack ends, no block can be mapped to a file that is closed. */
    private void end(Copy copy) {
        final List<Copy> ofSize = copies.get(copy.byteSize);
        if (ofSize != null) {
            ofSize.remove(copy);
        }
        savedBytes += copy.byteSize;
        try {
            if (copy.link != null) {
                CopyLinks.remove(copy.link, copy.file);
            }
            if (copy.bytes.address() != 0) {
                linux.munmap(copy.bytes.address(), copy.mappedBytes());
                mappings.add(-1);
            }
        } finally {
            linux.close(copy.file); // closes it even where it fails
        }
    }
}
