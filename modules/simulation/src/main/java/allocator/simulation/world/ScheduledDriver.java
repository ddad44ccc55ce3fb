package allocator.simulation.world;

import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.simulation.schedule.Points;
import allocator.simulation.schedule.Scheduler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * A simulated CUDA driver. Other threads go on before and after each call, which is one step; a call fails at random
 * with anything, before it has any effect; and the device does some of the work that is queued, or none, at each call.
 *
 * <p>Pinned memory is device memory here, since addresses of the host are others in each run.
 */
final class ScheduledDriver implements CudaDriver {
    private static final int UNKNOWN_ERROR = 999;

    /** What a provider has no reason to expect a failure of. */
    private static final Set<String> QUESTIONS = Set.of("driverVersion", "count", "info");

    private final SimulatedCudaDriver driver;
    private final SplittableRandom random;
    private final Model model;
    private final CudaDevices devices;
    private final CudaMemory memory;
    private final CudaPools pools;
    private final CudaStreams streams;
    private final List<Long> openStreams = new ArrayList<>();

    /** One of so many calls fails; 0 if none does. */
    private int faultEvery;

    /** At one of so many calls a stream goes on. */
    private final int progressEvery;

    ScheduledDriver(SimulatedCudaDriver driver, SplittableRandom random, Model model, int progressEvery) {
        this.driver = driver;
        this.random = random;
        this.model = model;
        this.progressEvery = progressEvery;
        devices = scheduled(CudaDevices.class, driver.devices());
        memory = scheduled(CudaMemory.class, driver.memory());
        pools = scheduled(CudaPools.class, driver.pools());
        streams = scheduled(CudaStreams.class, driver.streams());
    }

    /** Makes one of so many calls fail; 0 for none. */
    void failEvery(int calls) {
        faultEvery = calls;
    }

    private <T> T scheduled(Class<T> type, T functions) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> call(functions, method, arguments)));
    }

    private Object call(Object functions, Method method, Object[] arguments) throws Throwable {
        final Object[] result = new Object[1];
        final Throwable[] thrown = new Throwable[1];
        Points.access();
        Scheduler.outside(() -> {
            try {
                advanceSometimes();
                if (!QUESTIONS.contains(method.getName())) {
                    failSometimes();
                }
                result[0] = perform(functions, method, arguments);
            } catch (Throwable e) {
                thrown[0] = e;
            }
            return 0;
        });
        Points.access();
        if (thrown[0] != null) {
            throw thrown[0];
        }
        return result[0];
    }

    private Object perform(Object functions, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "memHostAlloc" -> {
                return driver.memory().memAlloc((int) arguments[0], (long) arguments[1]);
            }
            case "memFreeHost" -> {
                requireNotLive((long) arguments[1]);
                driver.memory().memFree((int) arguments[0], (long) arguments[1]);
                return null;
            }
            case "memFree", "memFreeAsync" -> requireNotLive((long) arguments[1]);
            default -> {}
        }
        final Object result;
        try {
            result = method.invoke(functions, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
        if (method.getName().equals("streamCreate")) {
            openStreams.add((Long) result);
        } else if (method.getName().equals("streamDestroy")) {
            openStreams.remove((Long) arguments[1]);
        }
        return result;
    }

    private void requireNotLive(long address) {
        model.requireNoneLive(address, 1);
    }

    private void advanceSometimes() {
        if (!openStreams.isEmpty() && random.nextInt(progressEvery) == 0) {
            driver.controls().advance(openStreams.get(random.nextInt(openStreams.size())));
        }
    }

    private void failSometimes() {
        if (faultEvery > 0 && random.nextInt(faultEvery) == 0) {
            switch (random.nextInt(6)) {
                case 0 ->
                    throw new CudaException(CudaFunction.MEM_ALLOC, SimulatedDevice.MESSAGE, CudaResult.OUT_OF_MEMORY);
                case 1 -> throw new CudaException(CudaFunction.MEM_ALLOC, SimulatedDevice.MESSAGE, UNKNOWN_ERROR);
                case 2 -> throw new IllegalStateException(SimulatedDevice.MESSAGE);
                case 3 -> throw new LinkageError(SimulatedDevice.MESSAGE);
                case 4 -> throw new OutOfMemoryError(SimulatedDevice.MESSAGE);
                default -> throw new StackOverflowError(SimulatedDevice.MESSAGE);
            }
        }
    }

    @Override
    public CudaDevices devices() {
        return devices;
    }

    @Override
    public CudaMemory memory() {
        return memory;
    }

    @Override
    public CudaPools pools() {
        return pools;
    }

    @Override
    public CudaAddressRanges addressRanges() {
        return driver.addressRanges();
    }

    @Override
    public CudaStreams streams() {
        return streams;
    }
}
