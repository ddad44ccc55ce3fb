/**
 * Snapshots of an environment or a session as values, and their JSON. Parameters, results and components are never
 * {@code null} unless they are annotated; sizes are bytes.
 */
package allocator.runtime.snapshot;
