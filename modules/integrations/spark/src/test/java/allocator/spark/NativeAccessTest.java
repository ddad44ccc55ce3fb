package allocator.spark;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.NamedProvider;
import allocator.spi.AllocatorOptions;
import allocator.testkit.OwnJvm;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A JVM that forbids native access, as later ones will. */
class NativeAccessTest {
    /** Opens an executor's memory and prints why that fails. */
    static final class Program {
        private Program() {}

        public static void main(String[] arguments) {
            try {
                LimitedMemory.open(
                                "executor", "cpu-reference", AllocatorOptions.EMPTY, NamedProvider::cpuMemory, 1 << 20)
                        .close();
                System.out.println("opened");
            } catch (IllegalStateException e) {
                System.out.println(ExecutorSide.reason(e, "0"));
            }
        }
    }

    private static String run(String... options) throws Exception {
        return OwnJvm.run(System.getProperty("java.class.path"), Program.class, List.of(options));
    }

    @Test
    void isNamedWithTheFlagInOneLine() throws Exception {
        assertThat(run("--illegal-native-access=deny").lines())
                .singleElement()
                .asString()
                .contains(
                        "needs native access", "--enable-native-access=ALL-UNNAMED", "spark.executor.extraJavaOptions");
        assertThat(run("--illegal-native-access=deny", "--enable-native-access=ALL-UNNAMED"))
                .contains("opened");
    }
}
