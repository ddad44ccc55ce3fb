package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Providers that end the process, block it or change it cost the rule at work and nothing else. Each is the sample
 * {@code malloc} with a plant: code that runs when a block of 4096 bytes is freed, as one test of A-06 does.
 */
class HostileProviderTest {
    private static final String FREED = "            counters.freed(byteSize, byteSize);";
    private static final String PLANT = "            if (byteSize == 4096) { %s }%n" + FREED;

    @TempDir
    private Path folder;

    private Path dropped(UnaryOperator<String> edit) throws IOException {
        final Path dropped = Files.createDirectory(folder.resolve("dropped"));
        SampleJar.make("malloc", true, edit, AllocatorCommand.JARS.toString(), folder, dropped.resolve("malloc.jar"));
        return dropped;
    }

    private String prove(int exitCode, UnaryOperator<String> edit, String... arguments) throws Exception {
        final List<String> all = new ArrayList<>(List.of("conformance", "--quick"));
        all.addAll(List.of(arguments));
        return AllocatorCommand.run(exitCode, dropped(edit), all);
    }

    private static UnaryOperator<String> replacing(String old, String text) {
        return source -> source.replace(old, text);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "MemorySegment.ofAddress(8).reinterpret(1).fill((byte) 1);   | SIGSEGV",
                "while (!isClosed) { Thread.onSpinWait(); }                  | did not return within 2 s; thread dump:",
            })
    void theRuleAtWorkFailsAndTheOthersAreProved(String plant, String shown) throws Exception {
        requireOneRuleFails(plant, shown);
    }

    @ParameterizedTest
    @Tag("thorough")
    @CsvSource(
            delimiter = '|',
            value = {
                "System.exit(0);                                             | System.exit was called",
                "Runtime.getRuntime().halt(0);                               | the process ended with exit code 0",
                "java.util.List<byte[]> l = new java.util.ArrayList<>(); while (true) { l.add(new byte[65536]); }"
                        + " | OutOfMemoryError",
                "for (int i = 0; i < 70; i++) { System.out.println(\"x\".repeat(1 << 20)); }"
                        + " | more than 64 MiB were printed",
                "RuntimeException a = new RuntimeException(\"a\");"
                        + " a.initCause(new RuntimeException(\"b\", a)); throw a;"
                        + " | unexpected RuntimeException (a)",
                "throw new RuntimeException() {"
                        + " public String getMessage() { throw new IllegalStateException(\"no\"); } };"
                        + " | unexpected IllegalStateException (no)",
                "throw new Error() { public Throwable getCause() { throw new IllegalStateException(); } };"
                        + " | unexpected com.example.malloc.MallocFactory$MallocAllocator$1",
                "try { java.nio.file.Files.write(java.nio.file.Path.of(java.util.List.of("
                        + "ProcessHandle.current().info().arguments().get()).getLast()), new byte[] {0, 0, 0, 2, 7, 7},"
                        + " java.nio.file.StandardOpenOption.APPEND); } catch (java.io.IOException e) { }"
                        + " | what it wrote to the runner cannot be read",
                "try { throw (RuntimeException) Class.forName(\"org.opentest4j.TestAbortedException\")"
                        + ".getConstructor(String.class).newInstance(\"x\"); }"
                        + " catch (ReflectiveOperationException e) { throw new AssertionError(e); }"
                        + " | unexpected TestAbortedException (x)",
            })
    void theRuleAtWorkFailsWhateverIsDone(String plant, String shown) throws Exception {
        requireOneRuleFails(plant, shown);
    }

    private void requireOneRuleFails(String plant, String shown) throws Exception {
        final String output =
                prove(1, replacing(FREED, PLANT.formatted(plant)), "--rules", "A-06,H-02", "--timeout", "2");
        assertThat(output)
                .contains("A-06 is broken on Malloc (cpu:0): ", shown)
                .containsPattern("BREAKS A-06; 1 rules passed, 1 failed");
    }

    /** Each test of random programs runs all of them: one end is enough, and it is that of C-02. */
    @Test
    @Tag("thorough")
    void anEndInRandomProgramsCostsOneRule() throws Exception {
        requireEndInPrograms("A-03,A-09,C-02", "C-02", 2);
    }

    @Test
    @Tag("thorough")
    void anEndInRandomProgramsCostsTheRuleAtWorkIfC02IsNotSelected() throws Exception {
        requireEndInPrograms("A-03", "A-03", 0);
    }

    private void requireEndInPrograms(String rules, String broken, int passed) throws Exception {
        final String plant = "            if (StackWalker.getInstance().walk(frames -> frames.anyMatch(frame ->"
                + " frame.getClassName().startsWith(\"allocator.conformance.program.\"))))"
                + " { Runtime.getRuntime().halt(0); }\n";
        assertThat(prove(1, replacing(FREED, plant + FREED), "--rules", rules))
                .contains(
                        broken + " is broken on Malloc (cpu:0): the process in which the provider ran did not survive")
                .containsPattern("BREAKS " + broken + "; " + passed + " rules passed, 1 failed");
    }

    @Tag("thorough")
    @Test
    void aChangedProcessIsRestoredAndReported() throws Exception {
        final String output = prove(
                1,
                replacing(FREED, PLANT.formatted("java.util.Locale.setDefault(java.util.Locale.of(\"ar\", \"EG\"));")),
                "--rules",
                "A-06,L-04");
        assertThat(output)
                .contains(
                        "L-04 is broken on provider: ",
                        " tests ended with something left behind or changed",
                        "the default locale was changed from ",
                        " to ar_EG")
                .contains("BREAKS L-04; 1 rules passed, 1 failed");
    }

    @Test
    @Tag("thorough")
    void aClosedStreamIsReported() throws Exception {
        assertThat(prove(1, replacing(FREED, PLANT.formatted("System.out.close();")), "--rules", "A-06,L-04"))
                .contains("standard output was closed, or has failed")
                .contains("BREAKS L-04; 1 rules passed, 1 failed");
    }

    @Tag("thorough")
    @Test
    void aFactoryThatNeedsNativeAccessToBeLoadedIsReported() throws Exception {
        requireFactoryIsReported("static final");
    }

    @Test
    @Tag("thorough")
    void aFactoryThatNeedsNativeAccessToBeMadeIsReported() throws Exception {
        requireFactoryIsReported("final");
    }

    private void requireFactoryIsReported(String modifiers) throws Exception {
        final String early = "private " + modifiers + " MethodHandle early ="
                + " Linker.nativeLinker().downcallHandle(FunctionDescriptor.ofVoid());\n    ";
        final String old = "private final References<MallocAllocator>";
        assertThat(prove(1, replacing(old, early + old), "--rules", "F-01,A-02"))
                .contains("F-01 is broken on provider: its factory cannot be loaded and named where no module may call")
                .contains("IllegalCallerException (Illegal native access from module com.example.malloc")
                .contains("BREAKS F-01; 1 rules passed, 1 failed");
    }

    @Test
    @Tag("thorough")
    void aFactoryThatNeedsNativeAccessLaterIsNot() throws Exception {
        assertThat(prove(0, UnaryOperator.identity(), "--rules", "F-01")).contains("CONFORMS; 1 rules passed");
    }

    @Test
    @Tag("thorough")
    void aNameThatIsNoneIsReported() throws Exception {
        assertThat(prove(1, replacing("return \"malloc\";", "return null;"), "--rules", "F-02,A-02"))
                .contains("? 1.0: BREAKS F-02; 1 rules passed, 1 failed");
    }

    @Test
    @Tag("thorough")
    void aReasonThatCannotBeReadIsNoWrongUsage() throws Exception {
        final String reason = "public MallocFactory() { throw new RuntimeException() {"
                + " public String getMessage() { throw new IllegalStateException(); } }; }";
        assertThat(prove(1, replacing("public MallocFactory() {}", reason), "--rules", "F-01"))
                .contains("(its message cannot be read: IllegalStateException)", "BREAKS F-01; 0 rules passed");
    }

    @Test
    @Tag("thorough")
    void aVendorOfAnyLengthFitsTheReport() throws Exception {
        final Path report = folder.resolve("report");
        prove(
                0,
                replacing("return \"Example Inc.\";", "return \"x\".repeat(100_000_000);"),
                "--rules",
                "A-02",
                "--report",
                report.toString());
        assertThat(report.resolve("TEST-conformance.xml")).content().hasSizeLessThan(100_000);
    }

    /** Not the provider's fault: what the process of the provider reports is lost. */
    @Test
    @Tag("thorough")
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void aFullDiskIsNotBlamedOnTheProvider() throws Exception {
        final Process kit = AllocatorCommand.start(
                // Files of 32 KiB at most, in blocks of 512 bytes.
                List.of("sh", "-c", "ulimit -f 64; exec \"$@\"", "sh"),
                dropped(UnaryOperator.identity()),
                List.of("-XX:-UsePerfData"),
                List.of("conformance", "--quick", "--rules", "A-*"));
        assertThat(AllocatorCommand.run(1, kit))
                .contains("no temporary file can be written to ")
                .doesNotContain("is broken on");
    }

    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void whereTheCommandIsEndedNothingIsLeftBehind() throws Exception {
        final Path temporary = Files.createDirectory(folder.resolve("temporary"));
        final Process kit = AllocatorCommand.start(
                List.of(),
                dropped(UnaryOperator.identity()),
                List.of("-Djava.io.tmpdir=" + temporary, "-XX:-UsePerfData"),
                List.of("conformance"));
        try (InputStream output = kit.getInputStream()) {
            // "Proving malloc ...", by the process that ran it.
            assertThat(output.read()).isPositive();
            assertThat(temporary).isNotEmptyDirectory();
            kit.destroy();
            assertThat(kit.waitFor(1, TimeUnit.MINUTES)).isTrue();
            assertThat(temporary).isEmptyDirectory();
        }
    }

    /** Whether the process of the provider ends as it should or is ended. */
    @ParameterizedTest
    @Tag("thorough")
    @EnabledOnOs({OS.LINUX, OS.MAC})
    @CsvSource({"0, ''", "1, System.exit(0);", "1, while (!isClosed) { Thread.onSpinWait(); }"})
    void processesThatItStartedEndWithItsOwn(int exitCode, String plant) throws Exception {
        final String seconds = "9000." + System.nanoTime();
        final String start = "try { new ProcessBuilder(\"sleep\", \"" + seconds
                + "\").start(); } catch (java.io.IOException e) { throw new AssertionError(e); } ";
        prove(exitCode, replacing(FREED, PLANT.formatted(start + plant)), "--rules", "A-06", "--timeout", "2");
        assertThat(ProcessHandle.allProcesses().map(ProcessHandle::info).map(Object::toString))
                .noneMatch(process -> process.contains(seconds));
    }

    @Test
    @Tag("thorough")
    void aFactoryThatDoesNotCloseCostsItsOwnRule() throws Exception {
        final String output = prove(
                1,
                replacing(
                        "references.count() + \" allocators are not released\");\n        }\n        isClosed = true;",
                        "\"\");\n        }\n        while (true) { Thread.yield(); }"),
                "--rules",
                "F-09,A-02",
                "--timeout",
                "1");
        assertThat(output)
                .contains("F-09 is broken on provider: ", "the test did not return within 1 s")
                .contains("BREAKS F-09; 1 rules passed, 1 failed");
    }

    @Test
    void aProviderThatCannotBeLoadedIsReported() throws Exception {
        final Path report = folder.resolve("report");
        final String output = prove(
                1,
                replacing("public MallocFactory() {}", "public MallocFactory() { System.exit(0); }"),
                "--report",
                report.toString());
        assertThat(output)
                .contains("did not survive its loading: System.exit was called", "MallocFactory.<init>")
                .contains("the provider could not be loaded: ", "BREAKS F-01; 0 rules passed, 1 failed");
        assertThat(report.resolve("TEST-conformance.xml"))
                .content()
                .contains(
                        "name=\"verdict\" value=\"breaks\"",
                        "name=\"finished\" value=\"true\"",
                        "name=\"not proved\" value=\"the provider could not");
    }

    @Test
    void withoutADeviceNothingIsTested() throws Exception {
        final Path report = folder.resolve("report");
        final String output = prove(
                3,
                replacing(
                        "return DeviceDiscovery.of(EpDevice",
                        "if (true) { return DeviceDiscovery.none(\"no card\"); }\nreturn DeviceDiscovery.of(EpDevice"),
                "--report",
                report.toString());
        assertThat(output).contains("malloc 1.0: NOT TESTED; ", "Not proved, because", "no device: no card: ");
        assertThat(report.resolve("TEST-conformance.xml")).content().contains("name=\"verdict\" value=\"not tested\"");
        assertThat(report.resolve("report.html")).content().contains("Not tested");
    }

    @Test
    void aProbeBesideTheProviderIsUsedIfItIsAskedFor() throws Exception {
        final UnaryOperator<String> edit = source -> source.replace(
                        "requires java.allocator.spi;",
                        "requires java.allocator.spi;\n    requires java.allocator.conformance;\n"
                                + "    provides allocator.conformance.DeviceProbeProvider with"
                                + " com.example.malloc.MallocFactory.Probe;")
                .replace("    /** The two functions.", """
                            /** A device that fails no call, and counts none. */
                            public static final class Probe implements allocator.conformance.DeviceProbeProvider,
                                    allocator.conformance.DeviceProbe {
                                public java.util.Optional<allocator.conformance.DeviceProbe> probe(EpFactory factory) {
                                    return java.util.Optional.of(this);
                                }
                                public java.util.OptionalLong bytesHeld(MemoryInfo memory) {
                                    return java.util.OptionalLong.empty();
                                }
                                public long calls() {
                                    return 0;
                                }
                                public void failCall(long number) {}
                                public void lag(boolean lagging) {}
                            }

                            /** The two functions.""");
        assertThat(prove(0, edit, "--probe", "--rules", "F-01")).contains("CONFORMS; 1 rules passed");
    }

    @Tag("thorough")
    @Test
    void aMissingProbeIsWrongUsage() throws Exception {
        assertThat(prove(2, UnaryOperator.identity(), "--probe", "--rules", "F-01"))
                .contains("allocator: --probe: no service allocator.conformance.DeviceProbeProvider beside malloc");
    }
}
