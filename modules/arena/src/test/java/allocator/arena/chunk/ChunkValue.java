package allocator.arena.chunk;

import java.util.ArrayList;
import java.util.List;

/**
 * A chunk as its record says, as a value.
 *
 * @param address address of the first byte
 * @param byteSize size in bytes, padding included
 * @param isFree whether it is free
 * @param requestedBytes bytes that the caller requested; {@code 0} if it is free
 * @param streamId the id of the stream that owns it, {@code 0} if no stream does
 * @param stamp the owner's sync id when it was freed; {@code 0} if it is in use or has no owner
 * @param untouchedHeadBytes bytes at the start of a free chunk that its owner never used
 * @param untouchedTailBytes bytes at the end of a free chunk that its owner never used
 */
public record ChunkValue(
        long address,
        long byteSize,
        boolean isFree,
        long requestedBytes,
        long streamId,
        long stamp,
        long untouchedHeadBytes,
        long untouchedTailBytes) {

    /** Lists all chunks of a placement by address, once what it caches is merged. */
    public static List<ChunkValue> listOf(BestFit placement) {
        final Chunks chunks = placement.chunks;
        final List<ChunkValue> list = new ArrayList<>();
        for (final Region region : placement.regions().toList()) {
            for (int chunk = region.first(); chunk != Region.NO_CHUNK; chunk = placement.next(chunk)) {
                final boolean isFree = chunks.isFree(chunk);
                final boolean hasStamp = isFree && placement.stream(chunk) != null;
                list.add(new ChunkValue(
                        placement.address(region, chunk),
                        Granules.toBytes(placement.granules(region, chunk)),
                        isFree,
                        isFree ? 0 : chunks.requested(chunk),
                        placement.streamId(chunk),
                        hasStamp ? chunks.stamp(chunk) : 0,
                        hasStamp ? Granules.toBytes(chunks.untouchedHead(chunk)) : 0,
                        hasStamp ? Granules.toBytes(chunks.untouchedTail(chunk)) : 0));
            }
        }
        return list;
    }
}
