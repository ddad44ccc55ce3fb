/** What a snapshot is collected from, and how one is written when a request fails for lack of memory. Not exported. */
package allocator.runtime.inspection;
