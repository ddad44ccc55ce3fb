/**
 * Plans as values and files: {@linkplain allocator.plan.Instance blocks with lifetimes}, the
 * {@linkplain allocator.plan.Plan offsets} that a planner gives them, and {@link allocator.plan.PlanFile} with both.
 *
 * <p>No parameter and no result is {@code null} unless annotated.
 */
package allocator.plan;
