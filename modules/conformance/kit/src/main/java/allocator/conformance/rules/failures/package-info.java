/** Rule A-07 and the end of a device: what fails beneath an allocator, and what it does then. */
package allocator.conformance.rules.failures;
