package allocator.onnxruntime;

import ai.onnxruntime.OrtException;
import java.lang.foreign.MemorySegment;

/** A session of a {@link Decoder} whose cache stays in memory of the installation; closing it closes the session. */
final class BoundDecoder implements AutoCloseable {
    final AllocatorSession session;
    final Binding binding;
    final DeviceTensor token;
    final DeviceTensor position;
    final DeviceTensor cache;
    final DeviceTensor logits;
    private final float[] read;

    BoundDecoder(Decoder model, AllocatorSession session, InstalledMemory memory) throws OrtException {
        this.session = session;
        token = memory.tensor(ElementType.INT64, 1);
        position = memory.tensor(ElementType.INT64, 1, 1);
        cache = memory.tensor(ElementType.FLOAT, model.cacheShape());
        logits = memory.tensor(ElementType.FLOAT, 1, model.words());
        read = new float[model.words()];
        binding = session.bind()
                .input("token", token)
                .input("position", position)
                .input("past", cache)
                .output("logits", logits)
                .output("present", cache);
        clear();
    }

    /** Forgets all tokens. */
    void clear() {
        cache.copyFrom(MemorySegment.ofArray(new float[(int) (cache.byteSize() / Float.BYTES)]));
    }

    /** Sets the next token. */
    void set(long word, long place) {
        token.copyFrom(MemorySegment.ofArray(new long[] {word}));
        position.copyFrom(MemorySegment.ofArray(new long[] {place}));
    }

    /** Runs the model on a token and returns the logits, in an array that the next call changes. */
    float[] next(long word, long place) throws OrtException {
        set(word, place);
        binding.run();
        logits.copyTo(MemorySegment.ofArray(read));
        return read;
    }

    @Override
    public void close() throws OrtException {
        binding.close();
        token.close();
        position.close();
        cache.close();
        logits.close();
        session.close();
    }
}
