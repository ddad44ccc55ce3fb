/**
 * Who uses a provider's allocator, and when it is released: instances, references to them, leases of one owner, live
 * blocks. Not exported.
 */
package allocator.runtime.lifetime;
