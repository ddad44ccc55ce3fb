package allocator.arena;

import java.util.ArrayList;
import java.util.List;

/** A region of {@link ModelArena}. */
final class ModelRegion {
    final long base;
    final long byteSize;
    final boolean isFirst;
    final List<ModelChunk> chunks = new ArrayList<>();

    ModelRegion(long base, long byteSize, boolean isFirst) {
        this.base = base;
        this.byteSize = byteSize;
        this.isFirst = isFirst;
        chunks.add(new ModelChunk(this, base, base + byteSize));
    }

    boolean isIdle() {
        return chunks.stream().allMatch(chunk -> chunk.isFree);
    }
}
