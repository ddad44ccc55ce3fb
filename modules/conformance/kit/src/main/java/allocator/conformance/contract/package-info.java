/** The contract's rules, and the names of the tests that prove them. */
package allocator.conformance.contract;
