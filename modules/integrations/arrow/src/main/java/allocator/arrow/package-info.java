/** Apache Arrow's allocation manager over a provider's host memory. No parameter and no result is {@code null}. */
package allocator.arrow;
