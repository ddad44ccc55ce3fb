/**
 * Deterministic simulation: runs the real classes with threads that a seed schedules, on devices that a seed makes
 * fail, beside an obvious model. Not published.
 */
package allocator.simulation;
