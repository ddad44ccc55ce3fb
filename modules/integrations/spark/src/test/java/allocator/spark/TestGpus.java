package allocator.spark;

import allocator.testkit.FakeFactory;

/** A provider of made-up GPUs, which executors find by its name. */
public final class TestGpus extends FakeFactory {
    /** Creates the provider of the GPUs 0 to 3. */
    public TestGpus() {
        super("test-gpus");
        withGpu(0).withGpu(1).withGpu(2).withGpu(3);
    }
}
