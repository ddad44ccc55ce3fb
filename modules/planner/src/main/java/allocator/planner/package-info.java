/**
 * Plans memory from lifetimes: {@linkplain allocator.planner.Instance blocks with lifetimes} in,
 * {@linkplain allocator.planner.Plan fixed offsets} out, in as little memory as possible.
 * {@link allocator.planner.Planner} is where to begin; {@link allocator.planner.PlanFile} reads and writes files.
 *
 * <p>No parameter and no result is {@code null} unless annotated.
 */
package allocator.planner;
