/** The systems under test, each with its model. */
package allocator.simulation.world;
