/**
 * What a snapshot is collected from, and how one is written when a request fails for lack of memory.
 *
 * <p>Internal: exported for the modules of this project, without a promise across versions.
 */
package allocator.runtime.inspection;
