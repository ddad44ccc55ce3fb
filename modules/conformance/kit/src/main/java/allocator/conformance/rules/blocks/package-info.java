/** Chapters A, R and S: blocks, reserves, limits, and what is counted of them. */
package allocator.conformance.rules.blocks;
