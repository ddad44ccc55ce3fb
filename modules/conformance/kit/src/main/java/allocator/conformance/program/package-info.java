/** Random programs: generated, run beside a model of true lifetimes, and reduced to the shortest that breaks a rule. */
package allocator.conformance.program;
