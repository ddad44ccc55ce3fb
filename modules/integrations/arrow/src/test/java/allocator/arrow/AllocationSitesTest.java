package allocator.arrow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class AllocationSitesTest {
    @RegisterExtension
    private final Opened opened = new Opened();

    @Test
    void areReportedWithTheirSite() {
        final ArrowMemory memory = opened.memory(ArrowMemory.builder().trackLeaks());
        final BufferAllocator root = opened.root(memory);
        final ArrowBuf forgotten = forget(root);
        try (ArrowBuf other = root.buffer(64)) {
            assertThat(memory.liveBuffers().blocks()).isEqualTo(2);
            assertThat(other.capacity()).isEqualTo(64);
        }
        assertThat(memory.liveBuffers().bytes()).isEqualTo(2048);
        assertThat(memory.liveBuffers().sites())
                .singleElement()
                .satisfies(site ->
                        assertThat(site.frames().getFirst().getMethodName()).isEqualTo("forget"));
        assertThatThrownBy(memory::close)
                .hasMessageStartingWith("2048 bytes of Arrow buffers are not released; close them first: ")
                .hasMessageContaining("AllocationSitesTest.forget(");
        forgotten.close();
        assertThat(memory.liveBuffers().blocks()).isZero();
    }

    private static ArrowBuf forget(BufferAllocator root) {
        return root.buffer(2000);
    }

    @Test
    void areNotTrackedUnlessAsked() {
        final ArrowMemory memory = opened.memory(ArrowMemory.builder());
        try (ArrowBuf buffer = opened.root(memory).buffer(64)) {
            assertThat(buffer.capacity()).isEqualTo(64);
            assertThat(memory.liveBuffers().blocks()).isZero();
        }
    }
}
