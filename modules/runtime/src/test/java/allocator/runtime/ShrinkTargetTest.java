package allocator.runtime;

import static allocator.testkit.FakeMemory.memory;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryType;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import allocator.testkit.Faults;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShrinkTargetTest {
    private static final String FORM =
            "option memory.enable_memory_arena_shrinkage='%s' (from run options) is not a list of"
                    + " <cpu|gpu|fpga|npu>[:<ordinal>] separated by ';'. ";

    private final Environment environment = Environments.empty();
    private final FakeFactory cpu = FakeFactory.cpu("Cpu");
    private final FakeFactory npu =
            new FakeFactory("Npu").with(DeviceType.NPU, 1, memory("Npu", DeviceType.NPU, 1, MemoryType.DEFAULT));
    private final Session session;

    ShrinkTargetTest() {
        environment.register(cpu);
        environment.register(npu);
        session = environment.openSession(
                SessionOptions.builder().provider("Cpu").provider("Npu").build());
    }

    @AfterEach
    void close() {
        session.close();
        environment.close();
    }

    /** What ONNX Runtime accepts and understands, and the device kinds that it cannot name. */
    @ParameterizedTest
    @CsvSource({
        "'', 0, 0",
        "cpu, 1, 0",
        "cpu:, 1, 0",
        "cpu:0, 1, 0",
        "cpu:00, 1, 0",
        "cpu:0;, 1, 0",
        "cpu:0;cpu:0, 1, 0",
        "cpu;cpu:0;, 1, 0",
        "npu:1, 0, 1",
        "cpu:0;npu:1, 1, 1",
        "npu:1;cpu:0, 1, 1",
    })
    void accepted(String list, int onCpu, int onNpu) {
        session.run(RunOptions.builder().shrink(list).build(), run -> {});
        assertThat(cpu.created().getFirst().calls("shrink")).isEqualTo(onCpu);
        assertThat(npu.created().getFirst().calls("shrink")).isEqualTo(onNpu);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {";", ";;", "cpu:0;;", ";cpu:0", " cpu:0", "CPU:0", "tpu", "cpu :0", "cuda:0", ":0", "cpu,gpu"})
    void unknownDevicesAreRejectedWhenTheOptionsAreBuilt(String list) {
        assertThatThrownBy(() -> RunOptions.builder().shrink(list))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageStartingWith(FORM.formatted(list))
                .hasMessageContaining("Unsupported device specified in the memory arena shrink list: ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cpu:0 ",
                "cpu:x",
                "cpu:99999",
                "cpu:32768",
                "cpu:-1",
                "cpu:+1",
                "cpu:0:zz",
                "cpu:0:",
                "cpu:999999"
            })
    void unknownNumbersAreRejectedWhenTheOptionsAreBuilt(String list) {
        assertThatThrownBy(() -> RunOptions.builder().shrink(list))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageStartingWith(FORM.formatted(list))
                .hasMessageContaining("Unsupported device id in the memory arena shrink list: ");
    }

    /** Defect 4: in ONNX Runtime only the first entry is looked at. */
    @ParameterizedTest
    @ValueSource(strings = {"gpu:0", "cpu:1", "cpu:0;gpu:0", "gpu:0;cpu:0", "npu", "cpu:32767", "fpga:0"})
    void arenasThatAreNotThereAreRejectedWhereverTheyStand(String list) {
        final RunOptions options = RunOptions.builder().shrink(list).build();
        assertThatThrownBy(() -> session.run(options, run -> {}))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageContaining("is not a list of devices on which the session has an arena of default memory. ")
                .hasMessageContaining(
                        "Did not find an arena based allocator registered for device-id combination in the"
                                + " memory arena shrink list: ")
                .hasMessageContaining("there are: Cpu (cpu:0), Npu (npu:1)");
        assertThat(cpu.created().getFirst().calls("shrink")).isEqualTo(0);
    }

    @Test
    void aListGivenToASessionShrinksItsArenasAtOnce() {
        cpu.created().getFirst().free(cpu.created().getFirst().alloc(8));
        assertThat(session.shrink("npu:1;cpu;cpu:0"))
                .as("each instance once, in the order of the list")
                .extracting(
                        shrunk -> shrunk.memory().name(),
                        shrunk -> shrunk.report().bytesReleased())
                .containsExactly(tuple("Npu", 0L), tuple("Cpu", 100L));
        assertThat(session.shrink("")).isEmpty();
        assertThat(cpu.created().getFirst().calls("shrink")).isEqualTo(1);
    }

    @Test
    void aShrinkOfAListThatFailsIsReportedAndTheOthersAreShrunk() {
        cpu.created().getFirst().before(Faults.on("shrink", new DeviceException("cuMemFree", null)));
        final List<RunReport.Shrunk> shrunk = session.shrink("cpu:0;npu:1");
        assertThat(shrunk.getFirst().failure()).hasMessage("cuMemFree");
        assertThat(shrunk.getLast().report()).isNotNull();
        assertThat(npu.created().getFirst().calls("shrink")).isEqualTo(1);
    }

    @Test
    void aListGivenToASessionIsCheckedAsAWholeAndNamesTheCall() {
        assertThatThrownBy(() -> session.shrink("cpu:x"))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageStartingWith(FORM.formatted("cpu:x").replace("run options", "Session.shrink"));
        assertThatThrownBy(() -> session.shrink("cpu:0;gpu:0"))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageContaining("(from Session.shrink)")
                .hasMessageContaining("gpu:0; there are: Cpu (cpu:0), Npu (npu:1)");
        assertThat(cpu.created().getFirst().calls("shrink")).isEqualTo(0);
        session.close();
        assertThatThrownBy(() -> session.shrink("cpu:0")).isInstanceOf(AllocatorClosedException.class);
    }

    /** DisableCPUArena: without an arena there is nothing to name. */
    @Test
    void aSessionWithoutArenasSaysSo() {
        final FakeFactory plain = FakeFactory.cpu("Plain");
        plain.returned(allocator -> {
            ((FakeAllocator) allocator).spiLevel(24);
            return allocator;
        });
        final Environment other = Environments.empty();
        other.register(plain);
        try (Session plainSession = other.openSession(SessionOptions.DEFAULT)) {
            assertThatThrownBy(() -> plainSession.run(
                            RunOptions.builder().shrink("cpu:0").build(), run -> {}))
                    .hasMessageContaining("cpu:0; there are: none");
        }
        other.close();
    }
}
