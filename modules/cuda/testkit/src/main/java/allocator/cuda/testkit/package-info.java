/**
 * What the tests of several CUDA providers share: the driver of this machine's GPU, and the conformance kit on a
 * simulated device.
 *
 * <p>Not published, and without a module descriptor: tests use it in scope {@code test}, from the class path.
 */
package allocator.cuda.testkit;
