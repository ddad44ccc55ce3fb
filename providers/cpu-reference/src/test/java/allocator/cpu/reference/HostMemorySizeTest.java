package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostMemorySizeTest {
    private static final long MIB = 1 << 20;
    private static final long HOST = 1536L << 30;

    @TempDir
    private Path folder;

    @BeforeEach
    void beALargeHost() throws IOException {
        write("proc/meminfo", "MemTotal:       " + (HOST >> 10) + " kB\nMemFree:        1 kB\n");
    }

    private void write(String name, String text) throws IOException {
        final Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    private long bytes() {
        return new HostMemorySize(folder.resolve("proc"), folder.resolve("cgroup")).bytes();
    }

    @Test
    void aHostWithoutGroupsHasItsMemory() {
        assertThat(bytes()).isEqualTo(HOST);
    }

    @Test
    void aContainerOfVersionTwoHasTheLimitAtTheRootOfItsGroups() throws IOException {
        write("proc/self/cgroup", "0::/\n");
        write("cgroup/memory.max", 512 * MIB + "\n");
        assertThat(bytes()).isEqualTo(512 * MIB);
    }

    @Test
    void theLeastOfAGroupAndThoseAboveItCounts() throws IOException {
        write("proc/self/cgroup", "0::/a.slice/b.scope\n");
        write("cgroup/a.slice/b.scope/memory.max", "max\n");
        write("cgroup/a.slice/memory.max", 256 * MIB + "\n");
        assertThat(bytes()).isEqualTo(256 * MIB);
        write("cgroup/a.slice/b.scope/memory.max", 128 * MIB + "\n");
        assertThat(bytes()).isEqualTo(128 * MIB);
    }

    /** A container of version 1 sees its own group's name as the host does, and its files at the root. */
    @Test
    void aContainerOfVersionOneHasTheLimitOfItsMemoryGroup() throws IOException {
        write("proc/self/cgroup", "5:devices:/docker/x\n4:cpu,memory:/docker/x\n0::/\n");
        write("cgroup/memory/memory.limit_in_bytes", 64 * MIB + "\n");
        assertThat(bytes()).isEqualTo(64 * MIB);
        write("cgroup/memory/docker/x/memory.limit_in_bytes", 32 * MIB + "\n");
        assertThat(bytes()).isEqualTo(32 * MIB);
    }

    @Test
    void aLimitAboveTheHostsMemoryIsNone() throws IOException {
        write("proc/self/cgroup", "4:memory:/\n");
        write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assertThat(bytes()).isEqualTo(HOST);
    }

    @Test
    void aProcessWithFewAddressesTakesAPartOfThem() throws IOException {
        write(
                "proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units\n"
                        + "Max address space         " + 4096 * MIB + "           unlimited            bytes\n");
        assertThat(bytes()).isEqualTo(1024 * MIB);
    }
}
