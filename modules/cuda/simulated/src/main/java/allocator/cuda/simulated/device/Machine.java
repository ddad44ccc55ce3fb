package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.simulated.TestControls;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;

/** A simulated machine: devices, the groups of functions that work on them, and a test's controls. */
public final class Machine implements CudaDriver {
    private static final long UUID_HIGH = 0x5117_0000_0000_4000L;
    private static final long UUID_LOW = 0x8000_0000_0000_0000L;
    private static final int COMPUTE_CAPABILITY = 90;

    /** Guards all state of the machine. */
    private final ReentrantLock lock = new ReentrantLock();

    private final AddressMap memory = new AddressMap();
    private final HazardDetector hazards;
    private final Scheduler scheduler;
    private final Calls calls;
    private final SimulatedDevices devices;
    private final SimulatedMemory deviceMemory;
    private final SimulatedPools pools;
    private final SimulatedAddressRanges addressRanges;
    private final SimulatedStreams streams;
    private final SimulatedControls controls;

    /**
     * What a machine is like.
     *
     * @param deviceCount number of devices
     * @param byteSize memory of each device in bytes
     * @param driverVersion version of the driver
     * @param hasLaggingStreams whether work waits until the clock is advanced or a call waits for it
     * @param hasContents whether memory has contents
     * @param hasMemoryPools whether stream-ordered allocation works
     * @param hasVirtualMemory whether address ranges can be reserved
     * @param hasPeerAccess whether work of a device can access the memory of another one
     */
    public record Properties(
            int deviceCount,
            long byteSize,
            int driverVersion,
            boolean hasLaggingStreams,
            boolean hasContents,
            boolean hasMemoryPools,
            boolean hasVirtualMemory,
            boolean hasPeerAccess) {}

    /**
     * Builds a machine.
     *
     * @param properties what it is like
     */
    public Machine(Properties properties) {
        final Streams created = new Streams();
        final FailurePlan plan = new FailurePlan();
        hazards = new HazardDetector(created);
        scheduler = new Scheduler(lock, created, hazards, properties.hasLaggingStreams());
        final Device[] all = new Device[properties.deviceCount()];
        for (int ordinal = 0; ordinal < all.length; ordinal++) {
            all[ordinal] = new Device(
                    info(properties, ordinal),
                    properties.hasContents(),
                    properties.hasPeerAccess(),
                    created.newHandle(),
                    created.newHandle());
        }
        calls = new Calls(lock, all, scheduler, plan);
        devices = new SimulatedDevices(calls, all, properties.driverVersion(), memory, created, scheduler);
        deviceMemory = new SimulatedMemory(calls, memory, created, scheduler, hazards, properties.hasContents());
        pools = new SimulatedPools(calls, memory, created, scheduler, hazards);
        addressRanges = new SimulatedAddressRanges(calls, memory, created, hazards);
        streams = new SimulatedStreams(calls, created, scheduler);
        controls = new SimulatedControls(lock, plan, created, scheduler, hazards, () -> leaks(all, created));
    }

    private static CudaDeviceInfo info(Properties properties, int ordinal) {
        return new CudaDeviceInfo(
                ordinal,
                "Simulated device",
                new UUID(UUID_HIGH, UUID_LOW + ordinal),
                "0000:%02x:00.0".formatted(ordinal + 1),
                properties.byteSize(),
                COMPUTE_CAPABILITY,
                properties.hasMemoryPools(),
                properties.hasVirtualMemory(),
                true,
                true);
    }

    private List<String> leaks(Device[] all, Streams created) {
        final List<String> leaks = new ArrayList<>(devices.lost());
        memory.all().forEach(block -> leaks.add(block.toString()));
        leaks.addAll(addressRanges.live());
        for (Device device : all) {
            leaks.addAll(created.live(device.ordinal()));
            leaks.addAll(device.live());
        }
        return leaks;
    }

    @Override
    public CudaDevices devices() {
        return devices;
    }

    @Override
    public CudaMemory memory() {
        return deviceMemory;
    }

    @Override
    public CudaPools pools() {
        return pools;
    }

    @Override
    public CudaAddressRanges addressRanges() {
        return addressRanges;
    }

    @Override
    public CudaStreams streams() {
        return streams;
    }

    /** {@return the controls of a test, the same object at every call} */
    public TestControls controls() {
        return controls;
    }

    /**
     * Ends the simulation; every later call fails with {@code CUDA_ERROR_DEINITIALIZED}. A second close does nothing.
     * Returns all hazards and leaks, one line each.
     */
    public List<String> close() {
        lock.lock();
        try {
            if (calls.isClosed()) {
                return List.of();
            }
            scheduler.drainAll();
            final List<String> faults = new ArrayList<>(hazards.found());
            controls.leaks().forEach(leak -> faults.add("leaked: " + leak));
            calls.close();
            memory.clear();
            return faults;
        } finally {
            lock.unlock();
        }
    }
}
