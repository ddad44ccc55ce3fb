package allocator.onnxruntime.ep.capi;

import allocator.conformance.DeviceProbe;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.TestControls;
import allocator.spi.MemoryInfo;
import java.util.List;
import java.util.OptionalLong;

/**
 * A view of a simulated device whose streams always lag.
 *
 * @param device the device
 */
record SimulatedProbe(TestControls device) implements DeviceProbe {
    @Override
    public OptionalLong bytesHeld(MemoryInfo memory) {
        return OptionalLong.empty();
    }

    @Override
    public long calls() {
        return device.calls();
    }

    @Override
    public void failCall(long number) {
        device.clearFailures();
        if (number > device.calls()) {
            device.failOnCall(number - device.calls(), CudaResult.NOT_PERMITTED);
        }
    }

    /** Does nothing: the streams of the device always lag. */
    @Override
    public void lag(boolean lagging) {}

    @Override
    public List<String> faults() {
        return device.hazards();
    }

    @Override
    public List<String> leaks() {
        return device.leaks();
    }
}
