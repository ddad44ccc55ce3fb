/** Chapter C: several threads at once. */
package allocator.conformance.rules.threads;
