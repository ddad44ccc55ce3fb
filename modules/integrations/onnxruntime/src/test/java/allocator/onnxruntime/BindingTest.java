package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.support.IdentityModel;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.HeapUse;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tensors of the program, and sessions whose inputs and outputs they are, in memory of the processor. */
class BindingTest {
    private static final int LAYERS = 2;
    private static final int TOKENS = 8;
    private static final int WIDTH = 16;
    private static final int WORDS = 32;
    private static final Decoder DECODER = new Decoder(LAYERS, TOKENS, WIDTH, WORDS);
    private static final byte[] MODEL = DECODER.model();

    private final OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
            .provider("cpu-reference")
            .install();
    private final InstalledMemory cpu = memory.memories().getFirst();

    @AfterEach
    void uninstall() {
        memory.close();
    }

    private AllocatorSession open(byte[] model) throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.setIntraOpNumThreads(1);
            return memory.openSession(model, "small", options, SessionSettings.DEFAULT);
        }
    }

    private static MemorySegment floats(float... values) {
        return MemorySegment.ofArray(values);
    }

    private static float[] values(DeviceTensor tensor) {
        final float[] values = new float[(int) (tensor.byteSize() / Float.BYTES)];
        tensor.copyTo(floats(values));
        return values;
    }

    private static void assertRejected(String part, Executable call) {
        final RuntimeException failure = assertThrows(RuntimeException.class, call);
        assertTrue(String.valueOf(failure.getMessage()).contains(part), failure::toString);
    }

    @Nested
    class Tensors {
        @ParameterizedTest
        @EnumSource(ElementType.class)
        void ofEachTypeKeepTheirBytes(ElementType type) {
            try (DeviceTensor tensor = cpu.tensor(type, 3, 4)) {
                final byte[] bytes = new byte[(int) type.byteSize(12)];
                for (int i = 0; i < bytes.length; i++) {
                    bytes[i] = (byte) (i + 1);
                }
                final byte[] read = new byte[bytes.length];
                tensor.copyFrom(MemorySegment.ofArray(bytes)).copyTo(MemorySegment.ofArray(read));
                assertArrayEquals(bytes, read);
                assertArrayEquals(new long[] {3, 4}, tensor.shape());
            }
        }

        @Test
        void goToAndComeFromTheJavaBinding() throws OrtException {
            final OrtEnvironment environment = OrtEnvironment.getEnvironment();
            try (OnnxTensor source = OnnxTensor.createTensor(
                            environment, FloatBuffer.wrap(new float[] {1, 2, 3, 4}), new long[] {2, 2});
                    DeviceTensor tensor = cpu.tensor(ElementType.FLOAT, 4).copyFrom(source);
                    DeviceTensor square = tensor.reshape(2, 2);
                    OnnxTensor copy = square.toOnnxTensor(environment)) {
                assertArrayEquals(new float[][] {{1, 2}, {3, 4}}, (float[][]) copy.getValue());
                assertRejected("cannot take elements of FLOAT", () -> {
                    try (DeviceTensor other = cpu.tensor(ElementType.INT32, 4)) {
                        other.copyFrom(source);
                    }
                });
            }
        }

        @Test
        void shareTheMemoryWithTheirViewsUntilTheLastIsClosed() {
            final DeviceTensor whole = cpu.tensor(ElementType.FLOAT, 4, 2).copyFrom(floats(0, 1, 2, 3, 4, 5, 6, 7));
            final DeviceTensor part = whole.slice(1, 3);
            whole.close();
            whole.close();
            assertArrayEquals(new float[] {2, 3, 4, 5}, values(part));
            assertEquals(32, memory.bytesInUse());
            assertRejected("is closed", () -> values(whole));
            part.close();
            assertEquals(0, memory.bytesInUse());
        }

        @Test
        void takeNoElementsOfAnotherSize() {
            try (DeviceTensor tensor = cpu.tensor(ElementType.INT64, 2);
                    DeviceTensor other = cpu.tensor(ElementType.DOUBLE, 2)) {
                assertRejected("another size than int[]", () -> tensor.copyFrom(MemorySegment.ofArray(new int[4])));
                assertRejected("the other side 8 bytes", () -> tensor.copyTo(MemorySegment.ofArray(new long[1])));
                assertRejected("cannot take elements of DOUBLE", () -> tensor.copyFrom(other));
            }
        }

        @Test
        void areDividedAtWholeBytesOnly() {
            try (DeviceTensor tensor = cpu.tensor(ElementType.INT4, 3);
                    DeviceTensor end = tensor.slice(2, 3);
                    DeviceTensor empty = cpu.tensor(ElementType.FLOAT, 0, Long.MAX_VALUE);
                    DeviceTensor none = empty.slice(0, 0)) {
                assertEquals(1, end.byteSize());
                assertEquals(0, none.byteSize());
                assertRejected("end within a byte", () -> tensor.slice(0, 1));
                assertRejected("end within a byte", () -> tensor.slice(1, 3));
            }
        }

        @Test
        void ofForeignMemoryAreNotFreed() {
            try (Arena arena = Arena.ofConfined()) {
                final MemorySegment foreign = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2);
                try (DeviceTensor tensor = cpu.tensorAt(foreign.address(), ElementType.FLOAT, 2)) {
                    tensor.copyFrom(floats(3, 4));
                }
                assertEquals(4, foreign.getAtIndex(ValueLayout.JAVA_FLOAT, 1));
                assertEquals(0, memory.bytesInUse());
            }
        }

        @Test
        void mayBeEmptyOrAScalar() {
            try (DeviceTensor empty = cpu.tensor(ElementType.FLOAT, 0, 3);
                    DeviceTensor scalar = cpu.tensor(ElementType.FLOAT).copyFrom(floats(7))) {
                assertEquals(0, values(empty).length);
                assertArrayEquals(new float[] {7}, values(scalar));
                assertRejected("a scalar has no dimension", () -> scalar.slice(0, 1));
            }
        }
    }

    private BoundDecoder bound() throws OrtException {
        return new BoundDecoder(DECODER, open(MODEL), cpu);
    }

    @Nested
    class Runs {
        @Test
        void haveTheBitsOfRunsThatCopy() throws OrtException {
            try (OrtSession theirs = OrtEnvironment.getEnvironment().createSession(MODEL);
                    BoundDecoder ours = bound()) {
                final float[][] expected = DECODER.plain(theirs, 3, 1, 4, 1, 5, 9, 2, 6);
                for (int i = 0; i < expected.length; i++) {
                    assertArrayEquals(expected[i], ours.next(new long[] {3, 1, 4, 1, 5, 9, 2, 6}[i], i));
                }
            }
        }

        @Test
        void allocateNothingOnTheHeap() throws OrtException {
            try (AllocatorSession session = open(IdentityModel.bytes());
                    DeviceTensor x = cpu.tensor(ElementType.FLOAT, 1);
                    DeviceTensor y = cpu.tensor(ElementType.FLOAT, 1);
                    Binding binding = session.bind().input("x", x).output("y", y)) {
                for (int i = 0; i < 20_000; i++) {
                    binding.run();
                }
                final long before = HeapUse.ofThisThread();
                for (int i = 0; i < 1000; i++) {
                    binding.run();
                }
                assertTrue(HeapUse.ofThisThread() - before < 1000, () -> HeapUse.ofThisThread() - before + " bytes");
            }
        }

        @Test
        void takeTensorsInTurn() throws OrtException {
            try (AllocatorSession session = open(SmallModels.chain());
                    DeviceTensor one = cpu.tensor(ElementType.FLOAT, 1).copyFrom(floats(1));
                    DeviceTensor two = cpu.tensor(ElementType.FLOAT, 2).copyFrom(floats(2, 3));
                    Binding binding = session.bind().output(SmallModels.LAST, cpu)) {
                for (final DeviceTensor x : Set.of(one, two)) {
                    binding.input("x", x).run();
                    try (DeviceTensor y = binding.result(SmallModels.LAST)) {
                        assertArrayEquals(new long[] {x.shape()[0] * (SmallModels.OPERATORS + 1)}, y.shape());
                    }
                }
            }
        }

        @ParameterizedTest
        @EnumSource(names = {"UINT8", "UINT16", "UINT32", "UINT64", "FLOAT16", "BFLOAT16", "DOUBLE", "INT8"})
        void ofUnusualTypes(ElementType type) throws OrtException {
            try (AllocatorSession session = open(SmallModels.twice(type.code));
                    DeviceTensor x = cpu.tensor(type, 2);
                    DeviceTensor y = cpu.tensor(type, 4);
                    DeviceTensor wrong = cpu.tensor(ElementType.INT64, 2);
                    Binding binding = session.bind().input("x", x).output("y", y)) {
                final byte[] bytes = new byte[(int) y.byteSize()];
                bytes[0] = 3;
                x.copyFrom(MemorySegment.ofArray(Arrays.copyOf(bytes, bytes.length / 2)));
                binding.run();
                y.copyTo(MemorySegment.ofArray(bytes));
                assertEquals(3, bytes[bytes.length / 2]);
                assertRejected("has elements of " + type, () -> binding.input("x", wrong));
            }
        }

        @Test
        void leaveOutputsThatOutliveTheSession() throws OrtException {
            final DeviceTensor y;
            final DeviceTensor part;
            try (AllocatorSession session = open(SmallModels.chain());
                    DeviceTensor x = cpu.tensor(ElementType.FLOAT, 1).copyFrom(floats(5))) {
                final Binding binding = session.bind().input("x", x).output(SmallModels.LAST, cpu);
                binding.run();
                y = binding.result(SmallModels.LAST);
                part = y.slice(1, 3);
                x.copyFrom(floats(6));
                binding.run();
                try (DeviceTensor later = binding.result(SmallModels.LAST)) {
                    assertEquals(6, values(later)[0]);
                }
            }
            assertThrows(IllegalStateException.class, memory::close);
            y.close();
            assertArrayEquals(new float[] {5, 5}, values(part));
            part.close();
            assertEquals(0, memory.bytesInUse());
        }

        @Test
        void ofSessionsInARowShareATensor() throws OrtException {
            try (AllocatorSession first = open(SmallModels.chain());
                    AllocatorSession second = open(SmallModels.chain());
                    DeviceTensor x = cpu.tensor(ElementType.FLOAT, 1).copyFrom(floats(5));
                    DeviceTensor y = cpu.tensor(ElementType.FLOAT, 11);
                    DeviceTensor z = cpu.tensor(ElementType.FLOAT, 121);
                    Binding one = first.bind().input("x", x).output(SmallModels.LAST, y);
                    Binding two = second.bind().input("x", y).output(SmallModels.LAST, z)) {
                one.run();
                two.run();
                final float[] all = new float[121];
                Arrays.fill(all, 5);
                assertArrayEquals(all, values(z));
            }
        }
    }

    @Nested
    class Rejected {
        private final AllocatorSession session = open(SmallModels.chain());
        private final DeviceTensor x = cpu.tensor(ElementType.FLOAT, 1).copyFrom(floats(5));
        private final DeviceTensor y = cpu.tensor(ElementType.FLOAT, 11);
        private final Binding binding = session.bind().input("x", x).output(SmallModels.LAST, y);

        Rejected() throws OrtException {}

        /** Nothing is lost, and the binding runs on. */
        @AfterEach
        void runsOn() throws OrtException {
            if (!x.isClosed()) {
                binding.input("x", x).output(SmallModels.LAST, y).run();
                assertEquals(5, values(y)[10]);
            }
            binding.close();
            x.close();
            y.close();
            session.close();
            assertEquals(0, memory.bytesInUse());
        }

        @Test
        void isANameThatTheModelHasNot() {
            assertRejected("has no input z; it has [x]", () -> binding.input("z", x));
            assertRejected("has no output z; it has [" + SmallModels.LAST, () -> binding.output("z", cpu));
        }

        @Test
        void isATypeOrAShapeThatTheModelHasNot() {
            try (DeviceTensor whole = cpu.tensor(ElementType.INT32, 1);
                    DeviceTensor square = cpu.tensor(ElementType.FLOAT, 1, 1)) {
                assertRejected("input x has elements of FLOAT; tensor INT32[1]", () -> binding.input("x", whole));
                assertRejected("input x has 1 dimensions, [-1]", () -> binding.input("x", square));
            }
        }

        @Test
        void isAnOutputOfTheWrongSize() {
            try (DeviceTensor small = cpu.tensor(ElementType.FLOAT, 10)) {
                binding.output(SmallModels.LAST, small);
                final OrtException failure = assertThrows(OrtException.class, binding::run);
                assertTrue(
                        String.valueOf(failure.getMessage()).contains("Binding.output(name, memory) leaves"),
                        failure::toString);
            }
        }

        @Test
        void isAClosedTensor() {
            final DeviceTensor closed = cpu.tensor(ElementType.FLOAT, 1);
            binding.input("x", closed);
            closed.close();
            assertRejected("input x: tensor FLOAT[1] in Cpu (cpu:0) is closed", binding::run);
            assertRejected("is closed", () -> binding.input("x", closed));
        }

        @Test
        void isMemoryOfTwoOutputs() throws OrtException {
            try (AllocatorSession decoder = open(MODEL);
                    DeviceTensor block = cpu.tensor(ElementType.FLOAT, 2 * LAYERS, TOKENS, WIDTH);
                    DeviceTensor part = block.slice(0, 1);
                    DeviceTensor row = part.reshape(TOKENS * WIDTH);
                    DeviceTensor cells = row.slice(0, WORDS);
                    DeviceTensor logits = cells.reshape(1, WORDS)) {
                final Binding both = decoder.bind().output("present", block);
                assertRejected("its memory is bound to output present", () -> both.output("logits", logits));
            }
        }

        @Test
        void isARunWithoutAllInputsOrAnyOutput() throws OrtException {
            final Binding empty = session.bind();
            assertRejected("inputs of small are not bound: [x]", empty::run);
            assertRejected(
                    "no output of small is bound", () -> empty.input("x", x).run());
        }

        @Test
        void isTheCloseOfATensorInUse() {
            x.beginUse();
            assertRejected("is used by a run or a copy", x::close);
            x.endUse();
            assertFalse(x.isClosed());
        }

        @Test
        void isABindingOfAClosedSession() throws OrtException {
            session.close();
            assertRejected("is closed", binding::run);
            assertRejected("is closed", () -> binding.input("x", x));
            assertRejected("is closed", session::bind);
            binding.close();
            x.close();
        }

        /** ONNX Runtime does not check that, and would end the process. */
        @Test
        void isARunAfterTheCloseOfOnnxRuntimesSession() throws OrtException {
            session.session().close();
            assertRejected("is closed", binding::run);
            session.close();
            assertRejected("is closed", binding::run);
            x.close();
        }

        @Test
        void isTheResultOfATensorOfTheProgram() {
            assertRejected("is not left to ONNX Runtime", () -> binding.result(SmallModels.LAST));
            binding.output(SmallModels.LAST, cpu);
            final Binding fresh = binding;
            assertRejected("no run of small has completed", () -> fresh.result(SmallModels.LAST));
        }

        @Test
        void isTheCloseOfAnInstallationWithTensors() {
            assertRejected("the session small is open", memory::close);
        }

        @Test
        void isATensorWithoutRoom() {
            memory.setBudget(memory.bytesInUse());
            assertThrows(OutOfMemoryException.class, () -> cpu.tensor(ElementType.FLOAT, 1));
            assertRejected("tensor", () -> binding.input("x", null));
            memory.setBudget(Long.MAX_VALUE);
            assertRejected("has a negative dimension", () -> cpu.tensor(ElementType.FLOAT, -1));
            assertRejected("overflows", () -> cpu.tensor(ElementType.FLOAT, Long.MAX_VALUE));
            assertRejected("more elements than a long", () -> cpu.tensor(ElementType.FLOAT, Long.MAX_VALUE, 2));
        }

        @Test
        void isAGraphWithoutAGpu() {
            assertRejected("must be bound to a tensor in a GPU's own memory", binding::capture);
            assertRejected("has no streams", cpu::createStream);
        }
    }

    @Test
    void aClosedInstallationMakesNoTensors() {
        memory.close();
        assertRejected("uninstalled", () -> cpu.tensor(ElementType.FLOAT, 1));
        assertRejected("uninstalled", () -> cpu.tensor(ElementType.FLOAT, 0));
        assertRejected("uninstalled", () -> cpu.tensorAt(64, ElementType.FLOAT, 1));
    }

    @Test
    void aRejectedCloseLeavesTensorsToBeMade() {
        try (DeviceTensor _ = cpu.tensor(ElementType.FLOAT, 2)) {
            assertThrows(IllegalStateException.class, memory::close);
            cpu.tensor(ElementType.FLOAT, 2).close();
        }
    }

    @Test
    void tensorsThatAreOpenKeepTheInstallation() {
        try (DeviceTensor _ = cpu.tensor(ElementType.FLOAT, 2)) {
            assertRejected("tensors of the program are open: 1 with 8 bytes of Cpu (cpu:0)", memory::close);
            assertEquals(8, memory.bytesInUse());
        }
    }
}
