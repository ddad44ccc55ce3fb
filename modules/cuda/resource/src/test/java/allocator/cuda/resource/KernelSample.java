package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.provider.support.budget.Budget;
import allocator.resource.AllocatorResource;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedMemory;
import allocator.runtime.Environment;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import jcuda.driver.JCudaHandles;

/** A kernel on the streams of a session's run, with memory of the session. */
final class KernelSample {
    /** Adds {@code count} floats at {@code source} to those at {@code target}. */
    private static final String PTX = """
            .version 7.0
            .target sm_52
            .address_size 64
            .visible .entry add(.param .u64 target, .param .u64 source, .param .u32 count) {
                .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<4>;
                mov.u32 %r1, %ctaid.x;
                mov.u32 %r2, %ntid.x;
                mov.u32 %r3, %tid.x;
                mad.lo.u32 %r4, %r1, %r2, %r3;
                ld.param.u32 %r5, [count];
                setp.ge.u32 %p, %r4, %r5;
                @%p ret;
                mul.wide.u32 %rd1, %r4, 4;
                ld.param.u64 %rd2, [target];
                ld.param.u64 %rd3, [source];
                add.u64 %rd4, %rd2, %rd1;
                add.u64 %rd5, %rd3, %rd1;
                ld.global.f32 %f1, [%rd4];
                ld.global.f32 %f2, [%rd5];
                add.f32 %f3, %f1, %f2;
                st.global.f32 [%rd4], %f3;
                ret;
            }
            """;

    private static final int THREADS = 256;

    private KernelSample() {}

    /** Submits {@code target[i] += source[i]} to a stream. */
    interface Add {
        void launch(CUstream stream, CUdeviceptr target, CUdeviceptr source, int count);
    }

    /** Loads the kernel into the context that is current on this thread, which keeps it until the context ends. */
    static Add load() {
        JCudaDriver.setExceptionsEnabled(true);
        final CUmodule module = new CUmodule();
        JCudaDriver.cuModuleLoadData(module, PTX + '\0');
        final CUfunction add = new CUfunction();
        JCudaDriver.cuModuleGetFunction(add, module, "add");
        return (stream, target, source, count) -> JCudaDriver.cuLaunchKernel(
                add,
                (count + THREADS - 1) / THREADS,
                1,
                1,
                THREADS,
                1,
                1,
                0,
                stream,
                Pointer.to(Pointer.to(target), Pointer.to(source), Pointer.to(new int[] {count})),
                null);
    }

    /** Copies both arrays to the GPU on one stream, adds them there on another one, and returns the sums. */
    static float[] sum(Environment environment, CudaDriver driver, Supplier<Add> kernel, float[] left, float[] right) {
        final SessionOptions options = SessionOptions.builder()
                .provider("cuda-arena")
                .option("ep.cuda-arena.arena.check_streams", "1") // for tests: says which use is unordered
                .build();
        final long byteSize = 4L * left.length;
        final float[] result = new float[left.length];
        try (Session session = environment.openSession(options);
                CudaEvents events = new CudaEvents(driver, 0);
                TrackedMemory memory = new TrackedMemory(
                        new AllocatorResource(session.allocator()), events, Budget.of("sums", 1 << 20))) {
            session.run(RunOptions.DEFAULT, run -> {
                final SyncStream in = run.stream(0);
                final SyncStream out = run.stream(1);
                final Add add = kernel.get(); // the streams have made the device's context current
                final TrackedBlock source = memory.allocate(byteSize, in, "source");
                final TrackedBlock target = memory.allocate(byteSize, in, "target");
                memory.launch(in)
                        .uses(source, Access.WRITE)
                        .uses(target, Access.WRITE)
                        .run(stream -> {
                            run.transfers().copy(MemorySegment.ofArray(left), range(session, source), stream);
                            run.transfers().copy(MemorySegment.ofArray(right), range(session, target), stream);
                        });
                memory.launch(out) // which waits for the copies
                        .uses(source, Access.READ)
                        .uses(target, Access.WRITE)
                        .run(stream -> add.launch(
                                JCudaHandles.stream(stream.handle()),
                                JCudaHandles.pointer(target.address()),
                                JCudaHandles.pointer(source.address()),
                                left.length));
                memory.launch(out)
                        .uses(target, Access.READ)
                        .run(stream ->
                                run.transfers().copy(range(session, target), MemorySegment.ofArray(result), stream));
                memory.free(source);
                memory.free(target);
                out.flush();
                final long reaped = memory.reap();
                assert reaped == 2 * byteSize : reaped;
            });
        }
        return result;
    }

    private static MemoryRange range(Session session, TrackedBlock block) {
        return session.allocator().range(block.address(), block.byteSize());
    }
}
