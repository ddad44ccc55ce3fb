package allocator.cuda.resource;

import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

/** A driver that runs something before and after each call of one function of pools or streams. */
final class HookedDriver {
    private HookedDriver() {}

    static CudaDriver of(CudaDriver driver, String function, Runnable before, Runnable after) {
        final CudaPools pools = hooked(CudaPools.class, driver.pools(), function, before, after);
        final CudaStreams streams = hooked(CudaStreams.class, driver.streams(), function, before, after);
        return new CudaDriver() {
            @Override
            public CudaDevices devices() {
                return driver.devices();
            }

            @Override
            public CudaMemory memory() {
                return driver.memory();
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
        };
    }

    private static <T> T hooked(Class<T> type, T target, String function, Runnable before, Runnable after) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, values) -> {
                    final boolean isHooked = method.getName().equals(function);
                    if (isHooked) {
                        before.run();
                    }
                    try {
                        return method.invoke(target, values);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    } finally {
                        if (isHooked) {
                            after.run();
                        }
                    }
                }));
    }
}
