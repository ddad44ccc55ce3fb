/** Chapter K and rules A-10 and O-07: how an allocator takes memory, uses it again and gives it back. */
package allocator.conformance.rules.regions;
