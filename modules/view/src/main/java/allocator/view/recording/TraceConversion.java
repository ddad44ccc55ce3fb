package allocator.view.recording;

/**
 * What became of the blocks of a recording in a trace.
 *
 * @param allocations allocations written
 * @param reserves those of them that are reserves
 * @param frees frees written
 * @param addedFrees frees written that the recording lacks, as it allocates the address again
 * @param unknownFrees frees left out, of blocks that were allocated before the recording
 */
public record TraceConversion(long allocations, long reserves, long frees, long addedFrees, long unknownFrees) {}
