/**
 * What the tests of all chapters share, and those that belong to no one chapter: random programs, known faults of
 * others, and leaks. The name of a test begins with strength and rule.
 */
package allocator.conformance.rules;
