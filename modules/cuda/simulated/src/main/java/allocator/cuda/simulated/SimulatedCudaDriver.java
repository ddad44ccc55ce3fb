package allocator.cuda.simulated;

import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.simulated.device.Machine;
import allocator.provider.support.platform.CLibrary;
import allocator.provider.support.platform.Platform;
import allocator.spi.EpFactory;
import allocator.spi.StreamHazardException;
import java.util.List;

/**
 * A CUDA driver whose devices are simulated in this process, for tests on machines without a GPU.
 *
 * <p>Calls have the results that a real driver gives; one contract test runs against both. In addition:
 *
 * <ul>
 *   <li>{@linkplain Builder#withLaggingStreams Streams may lag}: work is executed only by {@link TestControls#advance},
 *       {@link TestControls#advanceAll}, or a call that waits for it. Otherwise work is executed when it is submitted.
 *   <li>Work on memory that incomplete work of another stream accesses, with no event between the two, throws
 *       {@link StreamHazardException}. Streams that do not lag have no incomplete work.
 *   <li>Any call {@linkplain TestControls#failOnCall(long, int) can be made to fail}, and calls are counted.
 *   <li>A destroyed handle or a wrong device is always detected. Handles and addresses are reused at once, stream ids
 *       never.
 *   <li>Work submitted to a {@linkplain allocator.cuda.driver.CudaStreams#streamBeginCapture captured} stream is
 *       checked and not done; graphs cannot be launched and own no memory, so that an allocation from a pool fails
 *       there.
 *   <li>{@link #close} reports everything that was not freed.
 * </ul>
 *
 * <p>Device memory has contents, unless {@linkplain Builder#withoutContents left out}; they take up host memory only
 * where something was written. Pinned and managed memory is memory of this process. A copy from pageable host memory
 * reads it when it is submitted, and a copy to pageable host memory waits for the stream. No device address is ever a
 * host address.
 *
 * <p>Thread-safe, with one lock.
 */
public final class SimulatedCudaDriver implements CudaDriver, AutoCloseable {
    private final Machine machine;

    private SimulatedCudaDriver(Machine.Properties properties) {
        machine = new Machine(properties);
    }

    /** {@return a new builder of one device with 16 GiB, contents, and streams that do not lag} */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public CudaDevices devices() {
        return machine.devices();
    }

    @Override
    public CudaMemory memory() {
        return machine.memory();
    }

    @Override
    public CudaPools pools() {
        return machine.pools();
    }

    @Override
    public CudaAddressRanges addressRanges() {
        return machine.addressRanges();
    }

    @Override
    public CudaStreams streams() {
        return machine.streams();
    }

    /**
     * {@return the controls of a test: progress of streams, injected failures, numbers of calls, detected misuse; the
     * same object at every call}
     */
    public TestControls controls() {
        return machine.controls();
    }

    /**
     * Makes a provider whose devices are the simulated ones, to register with an environment. Its settings, streams and
     * memory are as on a GPU.
     *
     * @param provider the provider's name, such as {@code cuda-arena}; one that finds its driver with
     *     {@link CudaDrivers#probe}, and is on the class path or module path
     * @return a new factory, which the caller closes, or the environment that it is registered with
     * @throws IllegalArgumentException if there is no such provider; the message names those that were found
     */
    public EpFactory provider(String provider) {
        return Providers.onDriver(provider, this);
    }

    /**
     * Puts this driver in the place of the machine's in the whole process, for code under test that finds its providers
     * or its driver by itself. Ends when the result is closed.
     *
     * @return ends the substitution when it is closed
     * @throws IllegalStateException if another driver is in its place already
     */
    public CudaDrivers.Substitution substitute() {
        return CudaDrivers.substitute(this);
    }

    /**
     * Executes all queued work and ends the simulation. Every later call fails with {@code CUDA_ERROR_DEINITIALIZED}. A
     * second close does nothing.
     *
     * @throws IllegalStateException if there were hazards or there are leaks; the message lists them all
     */
    @Override
    public void close() {
        final List<String> faults = machine.close();
        if (!faults.isEmpty()) {
            throw new IllegalStateException(String.join(System.lineSeparator(), faults));
        }
    }

    /** Sets the properties of the simulated machine. */
    public static final class Builder {
        private int deviceCount = 1;
        private long byteSize = 16L << 30;
        private int driverVersion = 13_000;
        private boolean hasLaggingStreams;
        private boolean hasContents = true;
        private boolean hasMemoryPools = true;
        private boolean hasVirtualMemory = true;
        private boolean hasPeerAccess = true;

        private Builder() {}

        /**
         * Sets the number of devices.
         *
         * @param deviceCount from 0 to 16
         * @return this
         * @throws IllegalArgumentException if it is out of range
         */
        public Builder withDevices(int deviceCount) {
            if (deviceCount < 0 || deviceCount > 16) {
                throw new IllegalArgumentException("deviceCount=" + deviceCount + " is not in 0..16");
            }
            this.deviceCount = deviceCount;
            return this;
        }

        /**
         * Sets the memory of each device.
         *
         * @param byteSize in bytes, positive
         * @return this
         * @throws IllegalArgumentException if it is not positive
         */
        public Builder withMemory(long byteSize) {
            if (byteSize <= 0) {
                throw new IllegalArgumentException("byteSize=" + byteSize + " is not positive");
            }
            this.byteSize = byteSize;
            return this;
        }

        /**
         * Sets the {@linkplain CudaDevices#driverVersion driver's version}.
         *
         * @param driverVersion for instance {@code 13000}
         * @return this
         */
        public Builder withDriverVersion(int driverVersion) {
            this.driverVersion = driverVersion;
            return this;
        }

        /**
         * Makes work wait until a test advances its stream or a call waits for it.
         *
         * @return this
         */
        public Builder withLaggingStreams() {
            hasLaggingStreams = true;
            return this;
        }

        /**
         * Leaves contents out, for speed: copies and fills are checked as usual, but copy and fill nothing.
         *
         * @return this
         */
        public Builder withoutContents() {
            hasContents = false;
            return this;
        }

        /**
         * Leaves out stream-ordered allocation.
         *
         * @return this
         */
        public Builder withoutMemoryPools() {
            hasMemoryPools = false;
            return this;
        }

        /**
         * Leaves out address ranges.
         *
         * @return this
         */
        public Builder withoutVirtualMemory() {
            hasVirtualMemory = false;
            return this;
        }

        /**
         * Makes the devices such that none can access the memory of another one. Copies between them work.
         *
         * @return this
         */
        public Builder withoutPeerAccess() {
            hasPeerAccess = false;
            return this;
        }

        /**
         * {@return a new driver with these settings}
         *
         * @throws allocator.spi.UnsupportedMemoryException if the platform does not have 64 bits
         */
        public SimulatedCudaDriver build() {
            return build(Platform.current());
        }

        SimulatedCudaDriver build(Platform platform) {
            final CLibrary ignored = CLibrary.of(platform); // before a class is initialized that would stay unusable
            return new SimulatedCudaDriver(new Machine.Properties(
                    deviceCount,
                    byteSize,
                    driverVersion,
                    hasLaggingStreams,
                    hasContents,
                    hasMemoryPools,
                    hasVirtualMemory,
                    hasPeerAccess));
        }
    }
}
