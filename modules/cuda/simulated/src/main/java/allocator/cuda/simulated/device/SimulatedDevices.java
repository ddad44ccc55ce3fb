package allocator.cuda.simulated.device;

import static allocator.cuda.simulated.device.Calls.on;

import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.device.Calls.Arguments;
import allocator.spi.StreamHazardException.Site;
import java.util.ArrayList;
import java.util.List;

/** {@link CudaDevices} of a simulated machine. */
final class SimulatedDevices implements CudaDevices {
    private final Calls calls;
    private final Device[] devices;
    private final int driverVersion;
    private final AddressMap memory;
    private final Streams streams;
    private final Scheduler scheduler;

    /** What was live when its context was destroyed, one line each. */
    private final List<String> lost = new ArrayList<>();

    SimulatedDevices(
            Calls calls, Device[] devices, int driverVersion, AddressMap memory, Streams streams, Scheduler scheduler) {
        this.calls = calls;
        this.devices = devices;
        this.driverVersion = driverVersion;
        this.memory = memory;
        this.streams = streams;
        this.scheduler = scheduler;
    }

    List<String> lost() {
        return lost;
    }

    @Override
    public int driverVersion() {
        return driverVersion;
    }

    @Override
    public int count() {
        return devices.length;
    }

    @Override
    public CudaDeviceInfo info(int device) {
        try {
            return calls.device(device).info;
        } catch (CallFailure e) {
            throw e.of(CudaFunction.DEVICE_GET, "device=" + device);
        }
    }

    @Override
    public void primaryContextRetain(int device) {
        calls.getWithoutContext(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, on(device), () -> {
            final Device target = devices[device];
            if (target.retained++ == 0) {
                target.defaultStream = streams.createDefault(device);
            }
            return 0;
        });
    }

    @Override
    public void primaryContextRelease(int device) {
        calls.run(CudaFunction.DEVICE_PRIMARY_CTX_RELEASE, on(device), () -> {
            final Device target = devices[device];
            if (target.retained == 1) {
                scheduler.drainDevice(device);
                destroyContext(target);
            }
            target.retained--;
        });
    }

    private void destroyContext(Device device) {
        final List<AddressedMemory> live = memory.all().stream()
                .filter(entry -> entry.device == device && entry.tile == null && entry.mapped == null)
                .toList();
        for (AddressedMemory allocation : live) {
            lost.add(allocation.toString());
            memory.free(allocation, new Site("cuDevicePrimaryCtxRelease", "the host"));
        }
        lost.addAll(streams.live(device.ordinal()));
        streams.destroyAll(device.ordinal());
        device.defaultStream = null;
        device.peers.clear();
        for (Device other : devices) {
            other.peers.remove(device);
        }
    }

    @Override
    public long ctxGetCurrent(int device) {
        return calls.get(CudaFunction.CTX_GET_CURRENT, on(device), () -> devices[device].context);
    }

    @Override
    public int ctxGetDevice(int device, long context) {
        return (int) calls.get(
                CudaFunction.CTX_GET_DEVICE, new Arguments(device, () -> "context=%#x".formatted(context)), () -> {
                    for (Device candidate : devices) {
                        if (candidate.context == context && candidate.retained > 0) {
                            return candidate.ordinal();
                        }
                    }
                    throw new CallFailure(CudaResult.INVALID_CONTEXT);
                });
    }

    @Override
    public boolean deviceCanAccessPeer(int device, int peer) {
        return calls.getWithoutContext(
                        CudaFunction.DEVICE_CAN_ACCESS_PEER,
                        on(device, "peer=%d", peer),
                        () -> calls.device(peer) != devices[device] && devices[device].hasPeerAccess ? 1L : 0L)
                != 0;
    }

    @Override
    public void ctxEnablePeerAccess(int device, int peer) {
        calls.run(CudaFunction.CTX_ENABLE_PEER_ACCESS, on(device, "peer=%d", peer), () -> {
            calls.requireContext(peer);
            if (device == peer || !devices[device].hasPeerAccess) {
                throw new CallFailure(CudaResult.PEER_ACCESS_UNSUPPORTED);
            }
            devices[device].peers.add(devices[peer]);
        });
    }

    @Override
    public void ctxSynchronize(int device) {
        calls.run(CudaFunction.CTX_SYNCHRONIZE, on(device), () -> {
            streams.requireNoneCaptured(device);
            scheduler.drainDevice(device);
            devices[device].synchronizePools();
        });
    }
}
