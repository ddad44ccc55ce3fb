/** The search for offsets. Sizes and offsets are in a common unit of all blocks; blocks are indices. */
package allocator.planner.search;
