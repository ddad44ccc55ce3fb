package allocator.cpu.reference;

import allocator.provider.support.budget.Budget;
import allocator.spi.AllocatorException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Blocks with one copy in a {@link HostFile}, on Linux. The copy is mapped privately at each block's address, so a
 * write to a block copies the page: every block has the bytes that its owner expects, whatever the others write.
 *
 * <p>The first block of some bytes makes the copy and is mapped to it as well, so no block is another one's source. For
 * that moment the bytes exist twice. A block that leaves gets memory of its own, in which nothing is, and the last one
 * ends the copy. One descriptor serves all copies, and one mapping, which is not written, each of them.
 *
 * <p>A block is compared with the copies of its size, up to the first byte that differs, which is near for weights: a
 * hash would read the block once more.
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
    private final HostFile file;

    /** By size. */
    private final Map<Long, List<Copy>> copies = new HashMap<>();

    /** By the block's address. */
    private final Map<Long, Copy> blocks = new HashMap<>();

    private long savedBytes;

    /** Bytes in the file, and how many blocks have them. */
    private static final class Copy {
        private final long byteSize;
        private final int extent;
        private MemorySegment bytes = MemorySegment.NULL;
        private int users;

        Copy(long byteSize, int extent) {
            this.byteSize = byteSize;
            this.extent = extent;
        }

        long mappedBytes() {
            return HostHeap.wholePages(byteSize);
        }
    }

    /**
     * Opens a file without copies.
     *
     * @throws AllocatorException as {@link HostFile}
     */
    SharedPages(LinuxCalls linux, MemoryInfo info, ProcessMappings mappings) {
        this.linux = linux;
        this.info = info;
        this.mappings = mappings;
        // Not that of the memory: the blocks are charged, less what they save.
        file = new HostFile(linux, info, HostHeap.MAPPED_FROM, Budget.of("copies of " + info, Budget.UNLIMITED));
    }

    /** Returns the bytes of all blocks, less those of the copies. */
    long savedBytes() {
        return savedBytes;
    }

    /**
     * Maps a block to the copy of its bytes, which is made if there is none, unless it is mapped to one.
     *
     * @throws AllocatorException if that fails; the block has its bytes, and memory of its own
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
        final List<Copy> ofSize = copies.computeIfAbsent(byteSize, _ -> new ArrayList<>());
        for (final Copy copy : ofSize) {
            if (copy.bytes.mismatch(block) < 0) {
                join(block, copy);
                return;
            }
        }
        final int extent = file.create((int) (HostHeap.wholePages(byteSize) / HostHeap.MAPPED_FROM));
        final Copy copy = new Copy(byteSize, extent);
        savedBytes -= byteSize;
        try {
            fill(copy, block);
            ofSize.add(copy);
            join(block, copy);
        } finally {
            if (copy.users == 0) {
                end(copy);
            }
        }
    }

    private void fill(Copy copy, MemorySegment block) {
        copy.bytes = HostHeap.segment(map(0, copy, READ_AND_WRITE, LinuxCalls.MAP_SHARED), copy.byteSize);
        mappings.add(1);
        copy.bytes.copyFrom(block);
        map(copy.bytes.address(), copy, LinuxCalls.PROT_READ, LinuxCalls.MAP_SHARED | LinuxCalls.MAP_FIXED);
    }

    private void join(MemorySegment block, Copy copy) {
        blocks.put(block.address(), copy); // before the call, as the Java heap may end
        boolean isMapped = false;
        try {
            map(block.address(), copy, READ_AND_WRITE, IN_PLACE);
            isMapped = true;
        } finally {
            if (!isMapped) {
                blocks.remove(block.address());
                if (mapOwn(block.address(), copy) >= 0) { // the system may have unmapped it before it failed
                    block.copyFrom(copy.bytes);
                }
            }
        }
        savedBytes += copy.byteSize;
        copy.users++;
        mappings.add(MOST_MAPPINGS - 1);
    }

    /** Maps a copy. Returns where. */
    private long map(long address, Copy copy, int protection, int flags) {
        final long byteSize = copy.mappedBytes();
        final long mapped =
                linux.mmap(address, byteSize, protection, flags, file.descriptor(), copy.extent * HostHeap.MAPPED_FROM);
        if (mapped < 0) {
            throw failure(mapped, byteSize);
        }
        return mapped;
    }

    private AllocatorException failure(long result, long byteSize) {
        return HostPages.mappingException(info, mappings, "mmap", result, byteSize);
    }

    /** Maps memory of its own in place of a block. Returns what the system does. */
    private long mapOwn(long address, Copy copy) {
        final int flags = IN_PLACE | LinuxCalls.MAP_ANONYMOUS;
        return linux.mmap(address, copy.mappedBytes(), READ_AND_WRITE, flags, HostFile.NONE, 0);
    }

    /**
     * Gives a block memory of its own, without its bytes, if it has a copy with others.
     *
     * @throws AllocatorException if that fails: it has the copy then; or if the copy cannot end, which a later block
     *     with such bytes has then
     */
    void leave(long address) {
        final Copy copy = blocks.get(address);
        if (copy == null) {
            return;
        }
        final long result = mapOwn(address, copy);
        if (result < 0) {
            throw failure(result, copy.byteSize);
        }
        blocks.remove(address);
        mappings.add(1 - MOST_MAPPINGS);
        copy.users--;
        savedBytes -= copy.byteSize;
        if (copy.users == 0) {
            end(copy);
        }
    }

    private void end(Copy copy) {
        file.release(copy.extent);
        savedBytes += copy.byteSize;
        copies.getOrDefault(copy.byteSize, List.of()).remove(copy);
        if (copy.bytes.address() != 0) {
            linux.munmap(copy.bytes.address(), copy.mappedBytes());
            mappings.add(-1);
        }
    }

    /** Once no block is mapped to a copy. */
    void close() {
        file.close();
    }
}
