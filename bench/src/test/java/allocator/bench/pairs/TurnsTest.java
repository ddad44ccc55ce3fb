package allocator.bench.pairs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TurnsTest {
    @TempDir
    private Path folder;

    /** Writes its name to a file in each of its turns, and prints how many it had. */
    static final class Program {
        private Program() {}

        public static void main(String[] args) throws IOException {
            final Turns turns =
                    new Turns(System.out, new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
            final int count = Integer.parseInt(args[1]);
            for (int i = 0; i < count; i++) {
                turns.next();
                Files.writeString(Path.of(args[2]), args[0], StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            }
            if (count == 0) {
                throw new IllegalStateException("it has no turns");
            }
            System.out.println("turns " + count);
        }
    }

    private ProcessBuilder program(String name, int turns) {
        return new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                Program.class.getName(),
                name,
                String.valueOf(turns),
                folder.resolve("turns").toString());
    }

    @Test
    void arePlayedOneAfterTheOther() throws Exception {
        final Map<String, ProcessBuilder> programs = new LinkedHashMap<>();
        programs.put("a", program("a", 3));
        programs.put("b", program("b", 2));
        programs.put("c", program("c", 4));
        assertThat(Turns.run(programs, 1))
                .containsExactly(
                        Map.entry("a", List.of("turns 3")),
                        Map.entry("b", List.of("turns 2")),
                        Map.entry("c", List.of("turns 4")));
        assertThat(folder.resolve("turns")).hasContent("abcabcacc");
    }

    @Test
    void endWithAProgramThatFails() {
        final Map<String, ProcessBuilder> programs = new LinkedHashMap<>();
        programs.put("a", program("a", 1_000_000));
        programs.put("b", program("b", 0));
        assertThatThrownBy(() -> Turns.run(programs, 1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("b: ")
                .hasMessageContaining("it has no turns");
    }
}
