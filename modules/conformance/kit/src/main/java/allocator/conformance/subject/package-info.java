/** The subject of a test: a provider's factory and memory, and all that tests and random programs examine them with. */
package allocator.conformance.subject;
