/**
 * What the exported packages share: a table of live allocations, a short lock, and the only native access. Not
 * exported.
 */
package allocator.resource.base;
