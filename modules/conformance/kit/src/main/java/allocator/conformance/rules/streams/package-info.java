/** Chapters T, D and H: the order of streams, copies, and the host's view. */
package allocator.conformance.rules.streams;
