/** Tracking of live allocations, to find leaks: what is outstanding, with its size, its thread and its call site. */
package allocator.resource.leak;
