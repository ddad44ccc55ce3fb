package allocator.provider.support.platform;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CLibraryTest {
    @ParameterizedTest
    @CsvSource({
        "Linux, amd64, aligned_alloc, false, free, 0x22",
        "Linux, aarch64, aligned_alloc, false, free, 0x22",
        "Linux, riscv64, aligned_alloc, false, free, 0x22",
        "Mac OS X, x86_64, aligned_alloc, false, free, 0x1002",
        "Mac OS X, aarch64, aligned_alloc, false, free, 0x1002",
        "Windows 11, amd64, _aligned_malloc, true, _aligned_free, 0",
        "FreeBSD, amd64, aligned_alloc, false, free, 0",
    })
    void everySystemOf64BitsHasNames(
            String system, String processor, String alignedAlloc, boolean isSizeFirst, String free, String flags) {
        assertThat(CLibrary.of(new Platform(system, processor)))
                .isEqualTo(new CLibrary(alignedAlloc, isSizeFirst, free, Integer.decode(flags)));
    }

    @ParameterizedTest
    @CsvSource({"Linux, arm", "Windows 10, x86", "Linux, mips64el"})
    void othersAreRejectedByName(String system, String processor) {
        assertThatExceptionOfType(UnsupportedMemoryException.class)
                .isThrownBy(() -> CLibrary.of(new Platform(system, processor)))
                .withMessageContainingAll(
                        "memory of the host needs a processor of 64 bits", "this is " + system + " on " + processor);
    }

    @Test
    void theFunctionsOfThisPlatformExist() {
        final CLibrary library = CLibrary.of(Platform.current());
        assertThat(Linker.nativeLinker().defaultLookup().find(library.alignedAlloc()))
                .isPresent();
        assertThat(Linker.nativeLinker().defaultLookup().find(library.free())).isPresent();
    }

    @ParameterizedTest
    @CsvSource({"Linux, 64/1024", "Windows 11, 1024/64"})
    void theAlignmentComesFirstForTheCaller(String system, String received) throws Throwable {
        final MethodHandle bound = MethodHandles.lookup()
                .findStatic(CLibraryTest.class, "receive", MethodType.methodType(long.class, long.class, long.class));
        final long result = (long)
                CLibrary.of(new Platform(system, "amd64")).alignmentFirst(bound).invokeExact(64L, 1024L);
        assertThat(received).isEqualTo(result / 10_000 + "/" + result % 10_000);
    }

    static long receive(long first, long second) {
        return first * 10_000 + second;
    }
}
