package allocator.cuda.simulated;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** All memory that has an address, of all devices; no two blocks overlap. */
final class AddressMap {
    private final TreeMap<Long, Block> blocks = new TreeMap<>();

    void add(Block block) {
        blocks.put(block.address, block);
    }

    void remove(Block block) {
        blocks.remove(block.address);
    }

    void clear() {
        blocks.clear();
    }

    Collection<Block> all() {
        return blocks.values();
    }

    /** The block that begins at an address. */
    @Nullable
    Block at(long address) {
        return blocks.get(address);
    }

    /** The block that an address lies in. */
    @Nullable
    Block around(long address) {
        final Map.Entry<Long, Block> before = blocks.floorEntry(address);
        return before != null && address < before.getValue().end() ? before.getValue() : null;
    }

    /** Blocks that lie in a span at least in part. */
    List<Block> in(long address, long byteSize) {
        final List<Block> found = new ArrayList<>();
        final Block around = around(address);
        if (around != null && around.address < address) {
            found.add(around);
        }
        found.addAll(blocks.subMap(address, address + byteSize).values());
        return found;
    }

    /** The memory behind a span, in order; neighbouring mappings make one span. */
    List<Piece> find(int device, long address, long byteSize, MemoryAccess access) {
        if (byteSize < 0 || byteSize > Long.MAX_VALUE - address) {
            throw new Refused(CudaResult.INVALID_VALUE);
        }
        final List<Piece> pieces = new ArrayList<>();
        for (long at = address; at < address + byteSize; ) {
            final Block block = around(at);
            if (block == null || !isAccessible(block, device, access)) {
                throw new Refused(CudaResult.INVALID_VALUE);
            }
            final long part = Math.min(block.end(), address + byteSize) - at;
            pieces.add(new Piece(block.bytes, block.bytesOffset + at - block.address, part));
            at += part;
        }
        return pieces;
    }

    private static boolean isAccessible(Block block, int device, MemoryAccess access) {
        final boolean isHostMemory =
                block.origin == CudaFunction.MEM_HOST_ALLOC || block.origin == CudaFunction.MEM_ALLOC_MANAGED;
        return isHostMemory || (block.device == device && block.access.code() >= access.code());
    }
}
