/**
 * Shows where memory is. {@link allocator.view.SnapshotFile} reads snapshots, {@link allocator.view.TraceProfile}
 * replays a trace and observes it, {@link allocator.view.Diagnosis} says why a request failed and who has most, and
 * {@link allocator.view.Page} writes the page. Parameters and results are never {@code null}; sizes are bytes.
 */
package allocator.view;
