package allocator.arrow.dropin;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arrow.ProcessMemory;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.Data;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.impl.UnionListWriter;
import org.apache.arrow.vector.dictionary.Dictionary;
import org.apache.arrow.vector.dictionary.DictionaryEncoder;
import org.apache.arrow.vector.dictionary.DictionaryProvider.MapDictionaryProvider;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.ArrowFileWriter;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.DictionaryEncoding;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.util.TransferPair;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What programs of Arrow do, as they do it with {@code arrow-memory-unsafe}; nothing here names a memory. */
class UnchangedProgramsTest {
    private static final int ROWS = 10_000;

    private final BufferAllocator root = new RootAllocator();

    private static long bytesInUse() {
        return ProcessMemory.get().stats().requestedBytesInUse();
    }

    @BeforeEach
    void noByteIsOut() {
        assertThat(bytesInUse()).isZero();
    }

    @AfterEach
    void noByteIsLeft() {
        assertThat(root.getAllocatedMemory()).isZero();
        root.close();
        assertThat(bytesInUse()).isZero();
    }

    private void allBytesAreOurs() {
        assertThat(bytesInUse()).isEqualTo(root.getAllocatedMemory()).isPositive();
    }

    private static VectorSchemaRoot rows(BufferAllocator allocator) {
        final IntVector ids = new IntVector("id", allocator);
        final VarCharVector names = new VarCharVector("name", allocator);
        for (int i = 0; i < ROWS; i++) {
            ids.setSafe(i, i);
            if (i % 7 == 0) {
                names.setNull(i);
            } else {
                names.setSafe(i, ("name " + i).getBytes(StandardCharsets.UTF_8));
            }
        }
        ids.setValueCount(ROWS);
        names.setValueCount(ROWS);
        return VectorSchemaRoot.of(ids, names);
    }

    private static void requireRows(VectorSchemaRoot read) {
        final IntVector ids = (IntVector) read.getVector("id");
        final VarCharVector names = (VarCharVector) read.getVector("name");
        assertThat(read.getRowCount()).isEqualTo(ROWS);
        for (int i = 0; i < ROWS; i++) {
            assertThat(ids.get(i)).isEqualTo(i);
            if (i % 7 == 0) {
                assertThat(names.isNull(i)).isTrue();
            } else {
                assertThat(new String(names.get(i), StandardCharsets.UTF_8)).isEqualTo("name " + i);
            }
        }
    }

    @Test
    void vectorsGrowAreSplitAndTransferred() {
        try (VectorSchemaRoot rows = rows(root);
                BufferAllocator other = root.newChildAllocator("other", 0, Long.MAX_VALUE)) {
            allBytesAreOurs();
            final IntVector ids = (IntVector) rows.getVector("id");
            final TransferPair pair = ids.getTransferPair("part", other);
            pair.splitAndTransfer(100, 50);
            try (IntVector part = (IntVector) pair.getTo()) {
                assertThat(part.get(49)).isEqualTo(149);
            }
            requireRows(rows);
        }
    }

    @Test
    void listsOfListsHoldTheirChildren() {
        try (ListVector lists = ListVector.empty("lists", root)) {
            final UnionListWriter writer = lists.getWriter();
            for (int i = 0; i < 1000; i++) {
                writer.setPosition(i);
                writer.startList();
                for (int j = 0; j < i % 10; j++) {
                    writer.writeInt(i + j);
                }
                writer.endList();
            }
            writer.setValueCount(1000);
            allBytesAreOurs();
            assertThat(lists.getObject(999).toString()).isEqualTo("[999,1000,1001,1002,1003,1004,1005,1006,1007]");
        }
    }

    @Test
    void streamsAreWrittenAndRead() throws Exception {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (VectorSchemaRoot rows = rows(root);
                ArrowStreamWriter writer = new ArrowStreamWriter(rows, null, bytes)) {
            writer.start();
            writer.writeBatch();
            writer.writeBatch();
            writer.end();
        }
        int batches = 0;
        try (ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(bytes.toByteArray()), root)) {
            while (reader.loadNextBatch()) {
                allBytesAreOurs();
                requireRows(reader.getVectorSchemaRoot());
                batches++;
            }
        }
        assertThat(batches).isEqualTo(2);
    }

    @Test
    void filesAreWrittenAndRead(@TempDir Path folder) throws Exception {
        final Path file = folder.resolve("rows.arrow");
        try (VectorSchemaRoot rows = rows(root);
                FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                ArrowFileWriter writer = new ArrowFileWriter(rows, null, channel)) {
            writer.start();
            writer.writeBatch();
            writer.end();
        }
        try (FileChannel channel = FileChannel.open(file);
                ArrowFileReader reader = new ArrowFileReader(channel, root)) {
            assertThat(reader.getRecordBlocks()).hasSize(1);
            reader.loadRecordBatch(reader.getRecordBlocks().getFirst());
            allBytesAreOurs();
            requireRows(reader.getVectorSchemaRoot());
        }
    }

    @Test
    void cDataGoesOutAndComesBack() {
        try (VectorSchemaRoot rows = rows(root);
                ArrowArray array = ArrowArray.allocateNew(root);
                ArrowSchema schema = ArrowSchema.allocateNew(root)) {
            Data.exportVectorSchemaRoot(root, rows, null, array, schema);
            allBytesAreOurs();
            final long before = bytesInUse();
            try (BufferAllocator importing = root.newChildAllocator("importing", 0, Long.MAX_VALUE);
                    VectorSchemaRoot imported = Data.importVectorSchemaRoot(importing, array, schema, null)) {
                requireRows(imported);
                assertThat(bytesInUse() - before)
                        .as("an imported buffer is foreign memory")
                        .isLessThan(importing.getAllocatedMemory());
            }
        }
    }

    @Test
    void dictionariesEncodeAndDecode() {
        try (VarCharVector words = new VarCharVector("words", root);
                VarCharVector values = new VarCharVector("values", root)) {
            for (int i = 0; i < 3; i++) {
                words.setSafe(i, ("word " + i).getBytes(StandardCharsets.UTF_8));
            }
            words.setValueCount(3);
            for (int i = 0; i < ROWS; i++) {
                values.setSafe(i, ("word " + i % 3).getBytes(StandardCharsets.UTF_8));
            }
            values.setValueCount(ROWS);
            final Dictionary dictionary = new Dictionary(words, new DictionaryEncoding(1, false, null));
            final MapDictionaryProvider provider = new MapDictionaryProvider(dictionary);
            try (FieldVector encoded = (FieldVector) DictionaryEncoder.encode(values, dictionary);
                    FieldVector decoded = (FieldVector) DictionaryEncoder.decode(encoded, provider.lookup(1), root)) {
                allBytesAreOurs();
                assertThat(decoded.getObject(ROWS - 1)).hasToString("word " + (ROWS - 1) % 3);
                assertThat(encoded.getField().getFieldType().getDictionary()).isEqualTo(dictionary.getEncoding());
            }
        }
    }

    @Test
    void severalThreadsShareARoot() throws Exception {
        final Callable<Void> work = () -> {
            for (int i = 0; i < 20; i++) {
                try (BufferAllocator child = root.newChildAllocator("thread", 0, Long.MAX_VALUE);
                        VectorSchemaRoot rows = rows(child)) {
                    requireRows(rows);
                }
            }
            return null;
        };
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            final List<Callable<Void>> tasks =
                    IntStream.range(0, 4).mapToObj(i -> work).toList();
            for (final var done : threads.invokeAll(tasks)) {
                done.get();
            }
        }
    }

    @Test
    void emptyVectorsTakeNoMemory() {
        try (IntVector empty = new IntVector("empty", FieldType.nullable(new ArrowType.Int(32, true)), root)) {
            empty.setValueCount(0);
            assertThat(bytesInUse()).isZero();
        }
    }
}
