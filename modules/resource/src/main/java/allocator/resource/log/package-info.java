/**
 * Logs of allocations and deallocations.
 *
 * <p>A {@link allocator.resource.log.LoggingResource} reports every call to a
 * {@link allocator.resource.log.ResourceLog}. {@link allocator.resource.log.RmmLog} writes the CSV format of the RAPIDS
 * Memory Manager, reads it and replays it; {@link allocator.resource.log.TraceLog} writes the trace format of this
 * project.
 */
package allocator.resource.log;
