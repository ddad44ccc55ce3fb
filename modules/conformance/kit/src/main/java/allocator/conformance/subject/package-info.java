/**
 * The subject of a test: a provider's factory and memory, and everything that tests and random programs use to examine
 * them.
 */
package allocator.conformance.subject;
