/**
 * What the exported packages share: a table of live allocations, counts of blocks, a short lock, and the only native
 * access. Not exported.
 */
package allocator.resource.base;
