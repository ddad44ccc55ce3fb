package allocator.onnxruntime.ep.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.Guard;
import allocator.onnxruntime.ep.abi.NativeObjects;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.onnxruntime.support.Upcalls;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The {@code OrtAllocator}s of plug-in providers. Each has the members of its allocator's level, and states that level
 * as its version; the functions are the same for all.
 */
@SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // The methods that native code calls have no caller in Java.
final class AllocatorStruct {
    /** Ends the message of every failed allocation; ONNX Runtime repeats it in the message of its exception. */
    static final String FAILED = "cannot allocate; the cause of this exception has the numbers; "
            + "if it has none, PluginLibrary.explained(e) sets it";

    private static final NativeObjects<HostedAllocator> OBJECTS =
            new NativeObjects<>(ThrowingThunk.MESSAGE + Long.BYTES, AllocatorStruct::fill);

    /** What the exception of a failed allocation says, for each provider; never freed. */
    private static final Map<String, MemorySegment> MESSAGES = new ConcurrentHashMap<>();

    private AllocatorStruct() {}

    /** The functions, made on first use. */
    private static final class Functions {
        private static final Lookup IN = MethodHandles.lookup().in(AllocatorStruct.class);
        static final MemorySegment ALLOC = ThrowingThunk.around(Upcalls.stub(IN, "alloc", 2));
        static final MemorySegment RESERVE = ThrowingThunk.around(Upcalls.stub(IN, "reserve", 2));
        static final MemorySegment ALLOC_ON_STREAM = ThrowingThunk.around(Upcalls.stub(IN, "allocOnStream", 3));
        static final MemorySegment FREE = Upcalls.stub(IN, "free", 2);
        static final MemorySegment INFO = Upcalls.stub(IN, "info", 1);
        static final MemorySegment GET_STATS = Guard.statusStub(IN, "stats", 2);
        static final MemorySegment SHRINK = Guard.statusStub(IN, "shrink", 1);
    }

    private static void fill(HostedAllocator allocator, MemorySegment struct) {
        final int version = allocator.version();
        struct.set(JAVA_INT, OrtAllocatorLayout.VERSION, version);
        struct.set(ADDRESS, OrtAllocatorLayout.ALLOC, Functions.ALLOC);
        struct.set(ADDRESS, OrtAllocatorLayout.FREE, Functions.FREE);
        struct.set(ADDRESS, OrtAllocatorLayout.INFO, Functions.INFO);
        if (version >= SpiLevel.RESERVE) {
            struct.set(ADDRESS, OrtAllocatorLayout.RESERVE, Functions.RESERVE);
        }
        if (version >= SpiLevel.STATISTICS) {
            struct.set(ADDRESS, OrtAllocatorLayout.GET_STATS, Functions.GET_STATS);
        }
        if (version >= SpiLevel.STREAMS
                && allocator.target().as(StreamAwareAllocator.class).isPresent()) {
            struct.set(ADDRESS, OrtAllocatorLayout.ALLOC_ON_STREAM, Functions.ALLOC_ON_STREAM);
        }
        if (version >= SpiLevel.SHRINK
                && allocator.target().as(ShrinkableAllocator.class).isPresent()) {
            struct.set(ADDRESS, OrtAllocatorLayout.SHRINK, Functions.SHRINK);
        }
        struct.set(ADDRESS, ThrowingThunk.MESSAGE, message(allocator.provider()));
    }

    private static MemorySegment message(String provider) {
        return MESSAGES.computeIfAbsent(
                provider, name -> Arena.global().allocateFrom("an allocator of " + name + " " + FAILED));
    }

    /** Makes the struct of an allocator. */
    static long add(HostedAllocator allocator) {
        return OBJECTS.add(allocator);
    }

    /** Removes a struct. */
    static void remove(long struct) {
        final HostedAllocator ignored = OBJECTS.remove(struct);
    }

    /** ONNX Runtime has released an allocator. */
    static long release(long struct) {
        return Guard.run(OBJECTS, struct, "OrtEpFactory::ReleaseAllocator", HostedAllocator::release);
    }

    private static long alloc(long struct, long byteSize) {
        return alloc(struct, "OrtAllocator::Alloc", byteSize, false, 0);
    }

    private static long reserve(long struct, long byteSize) {
        return alloc(struct, "OrtAllocator::Reserve", byteSize, true, 0);
    }

    private static long allocOnStream(long struct, long byteSize, long stream) {
        return alloc(struct, "OrtAllocator::AllocOnStream", byteSize, false, stream);
    }

    private static long alloc(long struct, String callback, long byteSize, boolean isReserve, long stream) {
        try {
            final HostedAllocator allocator = OBJECTS.get(struct);
            return allocator == null ? 0 : allocator.alloc(callback, byteSize, isReserve, stream);
        } catch (Throwable e) {
            return 0;
        }
    }

    private static long free(long struct, long address) {
        try {
            final HostedAllocator allocator = OBJECTS.get(struct);
            if (allocator != null) {
                allocator.free(address);
            }
        } catch (Throwable e) {
            // Reported by the allocator; a free returns nothing.
        }
        return 0;
    }

    private static long info(long struct) {
        return Guard.value(
                OBJECTS,
                struct,
                "OrtAllocator::Info",
                0,
                allocator -> allocator.memory().ortInfo());
    }

    private static long stats(long struct, long out) {
        return Guard.status(OBJECTS, struct, "OrtAllocator::GetStats", allocator -> {
            EpApi.set(out, 0);
            EpApi.set(
                    out,
                    EpApi.get().ort().createPairs(allocator.target().stats().toMap()));
        });
    }

    private static long shrink(long struct) {
        return Guard.status(OBJECTS, struct, "OrtAllocator::Shrink", HostedAllocator::shrink);
    }
}
