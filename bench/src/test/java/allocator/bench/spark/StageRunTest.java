package allocator.bench.spark;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.bench.Console;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The command without Spark, which the benchmarks do not have. */
class StageRunTest {
    private final Console console = new Console();

    private int run(String arguments) {
        return StageRun.execute(
                console.out(), console.out(), (arguments + " --module=. --class-path=none --model=none").split(" "));
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', textBlock = """
            --rounds=0 ; --rounds, --rows and --stages take numbers from 1
            --keep=a/b ; --keep takes letters
            --rounds=1 ; plain:
            """)
    void whatIsWrongIsSaid(String option, String message) {
        assertThat(run(option)).isEqualTo(2);
        assertThat(console.output()).contains(message);
    }
}
