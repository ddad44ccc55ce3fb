package allocator.onnxruntime.ep;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OrtEnvironment;
import allocator.arena.BfcArena;
import allocator.cpu.reference.CpuReferenceFactory;
import allocator.onnxruntime.OnnxRuntimeLibrary;
import allocator.plan.PlanFile;
import allocator.provider.support.BlockLedger;
import allocator.spi.EpFactory;
import allocator.testkit.ForwardingFactory;
import allocator.testkit.OwnJvm;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What could end a process, each in a process of its own: none does. */
class BadInputTest {
    private static final List<Class<?>> CLASS_PATH = List.of(
            BadInputProgram.class,
            PluginLibrary.class,
            OnnxRuntimeLibrary.class,
            OrtEnvironment.class,
            EpFactory.class,
            BlockLedger.class,
            BfcArena.class,
            PlanFile.class,
            CpuReferenceFactory.class,
            ForwardingFactory.class);

    /** So that the program can use it up. */
    private static final String SMALL_HEAP = "-Xmx48m";

    private static void run(List<String> more, String... arguments) throws IOException, InterruptedException {
        final List<String> options =
                new ArrayList<>(List.of("--enable-native-access=ALL-UNNAMED", "-XX:ErrorFile=/dev/null"));
        options.addAll(more);
        OwnJvm.run(CLASS_PATH, BadInputProgram.class, options, arguments);
    }

    @ParameterizedTest
    @ValueSource(strings = {"leftOpen", "exit", "environmentClosedFirst", "fileReplaced", "heapEnds"})
    void theProcessEndsWell(String what) throws IOException, InterruptedException {
        assumeTrue(
                OnnxRuntimeLibrary.apiVersion() >= 26 || !what.equals("fileReplaced"),
                "ONNX Runtime 1.24 does not say where a library lies");
        run(List.of(SMALL_HEAP), what);
    }

    /** None of them ends the process, so that the next one runs in it. */
    @Test
    void theProcessRunsOn() throws IOException, InterruptedException {
        run(
                List.of(SMALL_HEAP),
                "nodeThatThrows",
                "freeAfterRelease",
                "levelThatThrows",
                "levelBelowTheLowest",
                "threads",
                "unregisteredWhileASessionLives");
    }

    @ParameterizedTest
    @Tag("thorough")
    @ValueSource(strings = {"halt", "registeredManyTimes"})
    void theProcessEndsWellAlsoAfterMore(String what) throws IOException, InterruptedException {
        run(List.of(SMALL_HEAP), what);
    }

    @ParameterizedTest
    @ValueSource(strings = {"noLibrary", "noDirectory"})
    void whatIsMissingIsNamed(String what) throws IOException, InterruptedException {
        run(
                List.of(what.equals("noLibrary") ? "-Donnxruntime.native.path=/nowhere" : "-Dwithout.directory=true"),
                what);
    }
}
