package allocator.onnxruntime.ep;

/**
 * Something that a provider threw while ONNX Runtime called it. ONNX Runtime passes on a text at most; this record has
 * the exception.
 *
 * @param number the number of the failure, from 1; ONNX Runtime's exception repeats it where it has a text
 * @param provider the provider's name
 * @param callback the callback, named as in ONNX Runtime's headers, such as {@code OrtEpFactory::CreateAllocator}
 * @param thread the name of the calling thread
 * @param threadId the identity of that thread
 * @param cause what was thrown
 */
public record CallbackFailure(
        long number, String provider, String callback, String thread, long threadId, Throwable cause) {}
