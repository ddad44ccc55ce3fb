/** The tests, in chapters. Each class holds the tests of some rules; their names begin with strength and rule. */
package allocator.conformance.rules;
