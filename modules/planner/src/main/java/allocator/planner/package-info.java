/**
 * Plans memory from lifetimes: {@linkplain allocator.plan.Instance blocks with lifetimes} in,
 * {@linkplain allocator.plan.Plan fixed offsets} out, in as little memory as possible.
 * {@link allocator.planner.Planner} is where to begin.
 *
 * <p>No parameter and no result is {@code null} unless annotated.
 */
package allocator.planner;
