package allocator.cuda.testkit;

import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Set;
import java.util.function.Consumer;

/** A driver whose calls throw what a test decides, before they reach the driver below. */
public record FaultyDriver(
        CudaDevices devices, CudaMemory memory, CudaPools pools, CudaAddressRanges addressRanges, CudaStreams streams)
        implements CudaDriver {
    /** What discovery and maps ask; a provider may ask again at any time and has no reason to expect a failure. */
    private static final Set<String> QUESTIONS = Set.of("driverVersion", "count", "info", "hashCode", "equals");

    /** Creates a driver: {@code calls} gets the name of each call and may throw, the other driver gets the rest. */
    public FaultyDriver(CudaDriver driver, Consumer<String> calls) {
        this(
                faulty(CudaDevices.class, driver.devices(), calls),
                faulty(CudaMemory.class, driver.memory(), calls),
                faulty(CudaPools.class, driver.pools(), calls),
                faulty(CudaAddressRanges.class, driver.addressRanges(), calls),
                faulty(CudaStreams.class, driver.streams(), calls));
    }

    private static <T> T faulty(Class<T> type, T functions, Consumer<String> calls) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    if (!QUESTIONS.contains(method.getName())) {
                        calls.accept(method.getName());
                    }
                    try {
                        return method.invoke(functions, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }
}
