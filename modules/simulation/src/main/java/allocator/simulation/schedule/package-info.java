/** The scheduler of simulated threads, and what instrumented code calls. */
package allocator.simulation.schedule;
