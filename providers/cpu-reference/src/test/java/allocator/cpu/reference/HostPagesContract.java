package allocator.cpu.reference;

import allocator.provider.support.platform.Platform;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.testkit.FakeMemory;
import allocator.testkit.FaultyCalls;
import allocator.testkit.pages.PageCalls;
import allocator.testkit.pages.PageSourceFaultsContract;
import allocator.testkit.pages.PageSubject;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** The suite for one size of page, on calls of Linux that fail on demand. */
@EnabledOnOs(value = OS.LINUX, disabledReason = "pages of the host are mapped on Linux only")
abstract class HostPagesContract extends PageSourceFaultsContract {
    static final MemoryInfo MEMORY = FakeMemory.memory("Cpu", DeviceType.CPU, 0, MemoryType.DEFAULT);

    static final long MAPPINGS = 400;

    /** Few mappings, of which what the JVM has now is not counted. */
    static ProcessMappings fewMappings() {
        final long others = ProcessMappings.count();
        return new ProcessMappings(MAPPINGS, () -> Math.max(0, ProcessMappings.count() - others), System::nanoTime);
    }

    private static final int EAGAIN = 11;

    private final long pageBytes;

    HostPagesContract(long pageBytes) {
        this.pageBytes = pageBytes;
    }

    /** What a failing call returns. */
    static final class Errno extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final int number;

        Errno(int number) {
            this.number = number;
        }
    }

    /** Returns calls that fail as {@code calls} throws, and have that much memory. */
    static LinuxCalls faulty(FaultyCalls calls, long mostBytes) {
        final LinuxCalls linux = HostPages.nativeCalls(Platform.current());
        return (LinuxCalls) Proxy.newProxyInstance(
                LinuxCalls.class.getClassLoader(), new Class<?>[] {LinuxCalls.class}, (proxy, method, arguments) -> {
                    try {
                        calls.accept(method.getName());
                    } catch (Errno e) {
                        if (method.getName().equals("close")) {
                            linux.close((int) arguments[0]); // Linux closes a file even where it fails
                        }
                        return -(long) e.number;
                    }
                    if (method.getName().equals("ftruncate") && (long) arguments[1] > mostBytes) {
                        return -(long) LinuxCalls.ENOSPC;
                    }
                    try {
                        return method.invoke(linux, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** A source, and its memory as this process sees it. */
    record Subject(HostPages source, PageCalls pages) implements PageSubject {
        static Subject of(HostPages source) {
            return new Subject(
                    source,
                    new PageCalls(
                            source::pageBytes,
                            source::reserve,
                            source::unreserve,
                            source::create,
                            source::release,
                            source::map,
                            source::unmap,
                            source::close));
        }

        @Override
        public void write(long address, byte[] bytes) {
            segment(address, bytes.length).copyFrom(MemorySegment.ofArray(bytes));
        }

        @Override
        public byte[] read(long address, int byteSize) {
            return segment(address, byteSize).toArray(ValueLayout.JAVA_BYTE);
        }

        private static MemorySegment segment(long address, long byteSize) {
            return HostHeap.segment(address, byteSize);
        }

        @Override
        public void close() {
            final String left = source.toString();
            source.close();
            if (!left.startsWith("0 pages of ") || !left.contains(" and 0 ranges of ")) {
                throw new AssertionError("left are " + left);
            }
        }
    }

    @Override
    protected PageSubject open(FaultyCalls calls) {
        return Subject.of(new HostPages(MEMORY, pageBytes, faulty(calls, Long.MAX_VALUE), fewMappings()));
    }

    @Override
    protected PageSubject openLimited(int most) {
        return Subject.of(new HostPages(MEMORY, pageBytes, faulty(new FaultyCalls(), most * pageBytes), fewMappings()));
    }

    @Override
    protected Map<String, Supplier<Throwable>> failures() {
        return Map.of(
                "EAGAIN",
                () -> new Errno(EAGAIN),
                "ENOMEM",
                () -> new Errno(LinuxCalls.ENOMEM),
                "the end of the heap",
                () -> new OutOfMemoryError("injected"));
    }
}
