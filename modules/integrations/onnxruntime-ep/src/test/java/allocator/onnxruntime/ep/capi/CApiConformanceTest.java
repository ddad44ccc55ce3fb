package allocator.onnxruntime.ep.capi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OrtEnvironment;
import allocator.arena.BfcArena;
import allocator.conformance.AllocatorConformance;
import allocator.conformance.runner.ConformanceRunner;
import allocator.cpu.reference.CpuReferenceFactory;
import allocator.onnxruntime.OnnxRuntimeLibrary;
import allocator.onnxruntime.ep.PluginLibrary;
import allocator.plan.PlanFile;
import allocator.provider.support.BlockLedger;
import allocator.spi.EpFactory;
import allocator.testkit.ForwardingFactory;
import allocator.testkit.OwnJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.engine.JupiterTestEngine;
import org.junit.platform.commons.support.ReflectionSupport;
import org.junit.platform.engine.TestEngine;
import org.junit.platform.launcher.Launcher;
import org.opentest4j.TestAbortedException;

/**
 * The conformance kit on providers behind ONNX Runtime's C API, in a process of its own. It proves what it proves of
 * the providers themselves, but for what the C API has no call for.
 */
class CApiConformanceTest {
    private static final Path PAGE = Path.of("..", "..", "..", "docs", "modules", "java.allocator.onnxruntime.ep.md");
    private static final Pattern ROW = Pattern.compile("(?m)^\\| ([A-Z]-\\d\\d) \\| ([a-z, -]+) \\|");

    /** The most rules that the C API may be the reason to break. */
    private static final int MOST = 5;

    private static final List<Class<?>> CLASS_PATH = List.of(
            CApiConformanceProgram.class,
            PluginLibrary.class,
            OnnxRuntimeLibrary.class,
            OrtEnvironment.class,
            EpFactory.class,
            BlockLedger.class,
            BfcArena.class,
            PlanFile.class,
            CpuReferenceFactory.class,
            named("allocator.cuda.simulated.SimulatedCudaDriver"),
            named("allocator.cuda.driver.CudaDriver"),
            named("jcuda.driver.CUresult"),
            named("allocator.cuda.memory.CudaEpFactory"),
            named("allocator.cuda.arena.CudaArenaFactory"),
            ConformanceRunner.class,
            AllocatorConformance.class,
            ForwardingFactory.class,
            Test.class,
            JupiterTestEngine.class,
            TestEngine.class,
            Launcher.class,
            ReflectionSupport.class,
            TestAbortedException.class);

    /** Returns a class of a module that this one does not read. */
    private static Class<?> named(String name) {
        try {
            return Class.forName(name, false, CApiConformanceTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException(name, e);
        }
    }

    @Test
    void theRulesHoldButForThoseOfThePage(@TempDir Path directory) throws IOException, InterruptedException {
        requireRules("cpu-reference", List.of("F-01 SKIPPED"), directory);
    }

    @Test
    @Tag("thorough")
    void norDoOthersFailWithStreams(@TempDir Path directory) throws IOException, InterruptedException {
        requireRules("cuda-arena", List.of(), directory);
    }

    private static void requireRules(String provider, List<String> notProvedDirectlyEither, Path directory)
            throws IOException, InterruptedException {
        assumeTrue(OnnxRuntimeLibrary.apiVersion() >= 28, "statistics of sessions are complete from 1.28 on");
        final Path results = directory.resolve("results");
        final Path messages = directory.resolve("messages");
        OwnJvm.run(
                CLASS_PATH,
                CApiConformanceProgram.class,
                List.of(
                        "--enable-native-access=ALL-UNNAMED",
                        "-Djava.util.logging.config.file=" + System.getProperty("java.util.logging.config.file")),
                provider,
                results.toString(),
                messages.toString());
        final List<String> expected = new ArrayList<>(notProvedDirectlyEither);
        documented(provider).forEach(rule -> expected.add(rule + " FAILED"));
        assertThat(documented(provider)).hasSizeLessThanOrEqualTo(MOST);
        assertThat(Files.readAllLines(results))
                .as(Files.readString(messages))
                .containsExactlyInAnyOrderElementsOf(expected);
    }

    /** Returns the rules that the page says to be broken for a provider. */
    private static List<String> documented(String provider) throws IOException {
        final List<String> rules = new ArrayList<>();
        final Matcher row = ROW.matcher(Files.readString(PAGE));
        while (row.find()) {
            if (List.of(row.group(2).split(", ")).contains(provider)) {
                rules.add(row.group(1));
            }
        }
        return rules;
    }
}
