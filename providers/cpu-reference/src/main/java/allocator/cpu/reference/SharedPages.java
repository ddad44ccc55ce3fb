package allocator.cpu.reference;

import allocator.provider.support.budget.Budget;
import allocator.spi.AllocatorException;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * Blocks with one copy in a {@link HostFile}, on Linux. The copy is mapped privately at each block's address, so a
 * write to a block copies the page: every block has the bytes that its owner expects, whatever the others write.
 *
 * <p>The first block of some bytes makes the copy and is mapped to it as well, so no block is another one's source. For
 * that moment the bytes exist twice. A block that leaves gets memory of its own, in which nothing is, and the last one
 * ends the copy. One descriptor serves all copies; what is mapped for a call only is unmapped at its end.
 *
 * <p>Not safe for use by several threads. The caller sees to it that no block is freed or written during a call.
 */
final class SharedPages {
    /** Those that a block divides, and the one that is there during a call. */
    private static final int MOST_MAPPINGS = 3;

    /** A buffer has no more bytes. */
    private static final long MOST_AT_ONCE = 1 << 30;

    private static final int READ_AND_WRITE = LinuxCalls.PROT_READ | LinuxCalls.PROT_WRITE;
    private static final int IN_PLACE = LinuxCalls.MAP_PRIVATE | LinuxCalls.MAP_FIXED;

    private final LinuxCalls linux;
    private final MemoryInfo info;
    private final ProcessMappings mappings;
    private final HostFile file;
    private final Map<Content, Copy> copies = new HashMap<>();

    /** By the block's address. */
    private final Map<Long, Copy> blocks = new HashMap<>();

    private long savedBytes;

    /** What distinguishes the bytes of blocks, but for rare ones, which a full comparison finds. */
    private record Content(long byteSize, long hash) {
        static Content of(MemorySegment bytes) {
            final CRC32C hash = new CRC32C();
            for (long from = 0; from < bytes.byteSize(); from += MOST_AT_ONCE) {
                hash.update(bytes.asSlice(from, Math.min(MOST_AT_ONCE, bytes.byteSize() - from))
                        .asByteBuffer());
            }
            return new Content(bytes.byteSize(), hash.getValue());
        }

        /** Returns the size as blocks are mapped. */
        long mappedBytes() {
            return HostHeap.wholePages(byteSize);
        }
    }

    /** Bytes in the file, and how many blocks have them. */
    private static final class Copy {
        private final Content content;
        private final int extent;
        private int users;

        Copy(Content content, int extent) {
            this.content = content;
            this.extent = extent;
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
        final Content content = Content.of(block);
        Copy copy = copies.get(content);
        if (copy == null) {
            copy = new Copy(content, file.create((int) (content.mappedBytes() / HostHeap.MAPPED_FROM)));
            copies.put(content, copy);
            savedBytes -= byteSize;
        }
        try {
            share(block, copy);
        } finally {
            if (copy.users == 0) {
                end(copy);
            }
        }
    }

    private void share(MemorySegment block, Copy copy) {
        final long mappedBytes = copy.content.mappedBytes();
        final long view = map(0, copy, READ_AND_WRITE, LinuxCalls.MAP_SHARED);
        try {
            final MemorySegment bytes = HostHeap.segment(view, block.byteSize());
            if (copy.users == 0) {
                bytes.copyFrom(block);
            } else if (bytes.mismatch(block) >= 0) {
                return;
            }
            blocks.put(block.address(), copy); // before the call, as the Java heap may end
            try {
                map(block.address(), copy, READ_AND_WRITE, IN_PLACE);
            } catch (DeviceException | OutOfMemoryException e) {
                blocks.remove(block.address());
                if (mapOwn(block.address(), mappedBytes) >= 0) { // the system may have unmapped it before it failed
                    block.copyFrom(bytes);
                }
                throw e;
            }
            savedBytes += block.byteSize();
            copy.users++;
            mappings.add(MOST_MAPPINGS - 1);
        } finally {
            linux.munmap(view, mappedBytes);
        }
    }

    /** Maps a copy. Returns where. */
    private long map(long address, Copy copy, int protection, int flags) {
        final long byteSize = copy.content.mappedBytes();
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
    private long mapOwn(long address, long byteSize) {
        return linux.mmap(address, byteSize, READ_AND_WRITE, IN_PLACE | LinuxCalls.MAP_ANONYMOUS, HostFile.NONE, 0);
    }

    /**
     * Gives a block memory of its own, without its bytes, if it has a copy with others.
     *
     * @throws AllocatorException if that fails: it has the copy then; or if the copy cannot end, which a later block
     *     with such bytes uses then
     */
    void leave(long address) {
        final Copy copy = blocks.get(address);
        if (copy == null) {
            return;
        }
        final long result = mapOwn(address, copy.content.mappedBytes());
        if (result < 0) {
            throw failure(result, copy.content.byteSize);
        }
        blocks.remove(address);
        mappings.add(1 - MOST_MAPPINGS);
        copy.users--;
        savedBytes -= copy.content.byteSize;
        if (copy.users == 0) {
            end(copy);
        }
    }

    private void end(Copy copy) {
        file.release(copy.extent);
        copies.remove(copy.content);
        savedBytes += copy.content.byteSize;
    }

    /** Closes the file, once no block is mapped to it. */
    void close() {
        file.close();
    }
}
