/**
 * Hard limits on bytes. A {@link allocator.provider.support.budget.Budget} counts and rejects; it has no memory of its
 * own. Providers charge what they hold of a device to the budget of that device.
 */
@NullMarked
package allocator.provider.support.budget;

import org.jspecify.annotations.NullMarked;
