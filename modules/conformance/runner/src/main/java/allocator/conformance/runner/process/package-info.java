/** A Java process beside this one that may crash, spin or print without end, and the messages it leaves behind. */
package allocator.conformance.runner.process;
