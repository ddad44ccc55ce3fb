/** Chapters M, F, O and L: what a factory lists and creates, its options, and the lives of its allocators. */
package allocator.conformance.rules.factories;
