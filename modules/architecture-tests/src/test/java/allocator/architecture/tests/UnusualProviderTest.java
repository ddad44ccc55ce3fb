package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Providers that are right in an unusual way conform. Each is an edited sample. */
class UnusualProviderTest {
    @TempDir
    private Path folder;

    private void requireConforms(String sample, UnaryOperator<String> edit, String rules, String timeout)
            throws IOException, InterruptedException {
        final Path dropped = Files.createDirectory(folder.resolve("dropped"));
        SampleJar.make(sample, true, edit, AllocatorCommand.JARS.toString(), folder, dropped.resolve(sample + ".jar"));
        final List<String> arguments = List.of("conformance", "--quick", "--rules", rules, "--timeout", timeout);
        assertThat(AllocatorCommand.run(0, dropped, arguments)).contains(sample + " 1.0: CONFORMS");
    }

    @Test
    @Tag("thorough")
    void largeAlignmentUnderAModestLimit() throws Exception {
        requireConforms(
                "buddy",
                source -> source.replace("SMALLEST = 256", "SMALLEST = 2L << 20")
                        .replace("REGION = 1 << 20", "REGION = 1 << 24"),
                "A-*,R-01,S-*",
                "60");
    }

    @Test
    @Tag("thorough")
    void slowDevice() throws Exception {
        requireConforms(
                "malloc",
                source -> source.replace(
                        "return (long) MALLOC",
                        "java.util.concurrent.locks.LockSupport.parkNanos(2_000_000); return (long) MALLOC"),
                "C-01",
                "4");
    }

    @Test
    @Tag("thorough")
    void freedMemoryIsKeptForAWhile() throws Exception {
        requireConforms(
                "buddy",
                source -> source.replace(
                                "join(address, block.byteSize(), block.region());",
                                "kept.addLast(Map.entry(address, block)); if (kept.size() > 64) { letGo(); }")
                        .replace("    private void requireOpen() {", """
                                    private final java.util.ArrayDeque<Map.Entry<Long, Block>> kept =
                                            new java.util.ArrayDeque<>(128);

                                    private void letGo() {
                                        final Map.Entry<Long, Block> first = kept.removeFirst();
                                        join(first.getKey(), first.getValue().byteSize(), first.getValue().region());
                                    }

                                    private void requireOpen() {""")
                        .replace("        final long address = size > REGION ?", """
                                        while (size > limit.available(held) && !kept.isEmpty()) {
                                            letGo();
                                        }
                                        final long address = size > REGION ?"""),
                "A-10",
                "60");
    }

    @Test
    void theContractsOwnStatisticsAnswerAfterClose() throws Exception {
        requireConforms(
                "malloc",
                source -> source.replaceAll(
                        "(?s)        @Override\n        public synchronized AllocatorStats stats.*?"
                                + "\n        }\n\n",
                        ""),
                "L-02,A-02",
                "60");
    }
}
