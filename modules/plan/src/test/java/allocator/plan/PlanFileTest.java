package allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlanFileTest {
    @TempDir
    private Path folder;

    private Path file(String text) throws IOException {
        return Files.writeString(folder.resolve("b.csv"), text);
    }

    @Nested
    class Reading {
        @Test
        void columnsMayComeInAnyOrder() throws IOException {
            final PlanFile read = PlanFile.read(file("size,id,upper,lower,alignment\r\n100,w,9,-3,64\r\n"));
            assertThat(read.ids()).containsExactly("w");
            assertThat(read.instance().lifetime(0)).isEqualTo(new Lifetime(-3, 9, 100, 64));
            assertThat(read.hasOffsets()).isFalse();
            assertThatIllegalStateException().isThrownBy(() -> read.offset(0)).withMessage("the file has no offsets");
        }

        @Test
        void offsetsMakeAPlan() throws IOException {
            final PlanFile read = PlanFile.read(file("id,lower,upper,size,offset\n1,0,5,10,0\n2,0,5,10,10\n\n"));
            assertThat(read.hasOffsets()).isTrue();
            assertThat(read.offset(1)).isEqualTo(10);
        }

        @Test
        void aByteOrderMarkIsIgnored() throws IOException {
            final Path file = file("\uFEFFid,lower,upper,size\n1,0,5,10\n");
            assertThat(PlanFile.isPlanFile(file)).isTrue();
            assertThat(PlanFile.read(file).ids()).containsExactly("1");
        }

        @Test
        void manyBlocksAreRead() throws IOException {
            final StringBuilder text = new StringBuilder("id,lower,upper,size,offset\n");
            for (int i = 0; i < 1000; i++) {
                text.append(i).append(",0,1,1,").append(i).append('\n');
            }
            assertThat(PlanFile.read(file(text.toString())).offset(999)).isEqualTo(999);
        }

        @ParameterizedTest
        @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
                op,id,bytes,stream;a,0,1,0          | 1 | unknown column 'op'; known: id, lower, upper, size, alignment, offset
                id,lower,upper,size;1,2,3,4~2,2,3,4 | 2 | a carriage return does not end a line: '1,2,3,4\\u000d2,2,3,4'
                id,lower,upper                      | 1 | the header must have each of id, lower, upper, size once: 'id,lower,upper'
                id,id,lower,upper,size              | 1 | the header must have each of id, lower, upper, size once: 'id,id,lower,upper,size'
                id,lower,upper,size;1,2,3           | 2 | '1,2,3' has 3 fields instead of 4
                id,lower,upper,size;1,2,3,x         | 2 | size is no number: 'x'
                id,lower,upper,size;1,2,3,+4        | 2 | size is no number: '+4'
                id,lower,upper,size;1,2,3,          | 2 | size is no number: ''
                id,lower,upper,size;1,2,3,9223372036854775808 | 2 | size is out of range: '9223372036854775808'
                id,lower,upper,size;1,2,3,-4        | 2 | byteSize -4 is not from 0 to 4611686018427387904
                id,lower,upper,size;1,5,3,4         | 2 | a lifetime ends before it begins: [5, 3)
                id,lower,upper,size;1,2,3,4;1,2,3,4 | 3 | a second block has the id '1'
                id,lower,upper,size;,2,3,4          | 2 | the id is empty
                id,lower,upper,size;;1,2,3,4        | 3 | a line follows an empty line, 2
                id,lower,upper,size,offset;1,2,3,4,-1 | 2 | the offset is negative: -1
                id,lower,upper,size,alignment;1,2,3,4,3 | 2 | byteAlignment 3 is no power of two from 1 to 1099511627776
                """)
        void anInvalidLineIsNamed(String text, long line, String reason) throws IOException {
            final Path file = file(text.replace(";", "\n").replace("~", "\r"));
            assertThatExceptionOfType(PlanFileException.class)
                    .isThrownBy(() -> PlanFile.read(file))
                    .withMessage(file + ":" + line + ": " + reason)
                    .satisfies(e -> assertThat(e.line()).isEqualTo(line));
        }

        @Test
        void aFileThatIsNoneIsNamed() throws IOException {
            final Path missing = folder.resolve("missing.csv");
            assertThatExceptionOfType(PlanFileException.class)
                    .isThrownBy(() -> PlanFile.read(missing))
                    .withMessage(missing + ": no such file");
            final Path empty = file("");
            assertThatExceptionOfType(PlanFileException.class)
                    .isThrownBy(() -> PlanFile.read(empty))
                    .withMessage(empty + ": the header is missing: id,lower,upper,size");
            final Path bytes = Files.write(folder.resolve("bytes"), new byte[] {(byte) 0xff, (byte) 0xfe, 0});
            assertThatExceptionOfType(PlanFileException.class)
                    .isThrownBy(() -> PlanFile.read(bytes))
                    .withMessage(bytes + ": this is not UTF-8 text");
        }

        @Test
        void aHeaderIsRecognized() throws IOException {
            assertThat(PlanFile.isPlanFile(file("id,lower,upper,size\n"))).isTrue();
            assertThat(PlanFile.isPlanFile(file("size,id,lower,upper,offset"))).isTrue();
            assertThat(PlanFile.isPlanFile(file("op,id,bytes,stream\n"))).isFalse();
            assertThat(PlanFile.isPlanFile(file(""))).isFalse();
            assertThat(PlanFile.isPlanFile(folder)).isFalse();
            assertThat(PlanFile.isPlanFile(folder.resolve("missing"))).isFalse();
        }
    }

    @Nested
    class Writing {
        @Test
        void whatIsWrittenIsRead() throws IOException {
            final Instance instance = new Instance(List.of(new Lifetime(0, 5, 10), new Lifetime(2, 7, 20, 8)));
            final Plan plan = new Plan(new long[] {0, 16}, 36, 36, 0);
            final PlanFile read = PlanFile.read(file(PlanFile.text(List.of("a", "b"), instance, plan)));
            assertThat(read.ids()).containsExactly("a", "b");
            assertThat(read.instance()).isEqualTo(instance);
            assertThat(new long[] {read.offset(0), read.offset(1)}).isEqualTo(plan.offsets());
        }

        @Test
        void withoutAlignmentsTheFormIsMiniMallocs() {
            final Instance instance = new Instance(List.of(new Lifetime(0, 5, 10)));
            final Plan plan = new Plan(new long[] {0}, 10, 10, 0);
            assertThat(PlanFile.text(List.of("7"), instance, plan))
                    .isEqualTo("id,lower,upper,size,offset\n7,0,5,10,0\n");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> PlanFile.text(List.of(), instance, plan))
                    .withMessage("0 ids for 1 blocks");
        }
    }
}
