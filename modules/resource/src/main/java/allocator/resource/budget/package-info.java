/**
 * Budgets: hard limits on bytes, in a tree of devices, tenants, tasks and requests.
 *
 * <p>A {@link allocator.provider.support.budget.Budget} counts and rejects. A
 * {@link allocator.resource.budget.BudgetResource} charges every allocation of a resource to one budget, a
 * {@link allocator.resource.budget.RequestBudgetResource} to the budget of the current request. A
 * {@link allocator.resource.budget.PressureLadder} lists what to try before an allocation is rejected.
 */
package allocator.resource.budget;
