/** Rewrites the classes of the product so that a scheduler controls their threads. */
package allocator.simulation.instrument;
