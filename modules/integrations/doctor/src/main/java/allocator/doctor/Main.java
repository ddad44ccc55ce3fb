package allocator.doctor;

import ai.onnxruntime.OrtException;
import allocator.spi.OutOfMemoryException;
import java.io.IOException;
import java.io.PrintStream;
import java.util.Map;

/**
 * Measures a model and prints an object of JSON.
 *
 * <p>The arguments are {@code profile}, {@code measure} or {@code fit}, the model's file, and settings as
 * {@code key=value}. An object with {@code error} is printed if the model cannot be run, with {@code usage} if the
 * settings do not fit the model.
 */
final class Main {
    private Main() {}

    /**
     * Measures.
     *
     * @param args the arguments
     */
    public static void main(String[] args) throws IOException {
        final PrintStream out = System.out;
        System.setOut(System.err); // the result stands alone
        final String json = Result.text(run(args));
        out.print(json);
        out.flush();
        // ONNX Runtime may still hold what a failed run has left.
        Runtime.getRuntime().halt(out.checkError() ? 1 : 0);
    }

    /** Returns the result, or what has failed. */
    static Map<String, Object> run(String... args) {
        try {
            final Settings settings = Settings.of(args);
            return switch (args[0]) {
                case "profile" -> Measurement.profile(settings);
                case "measure" -> new Measurement(settings).measure();
                case "fit" -> new Fit(settings).fit();
                default -> throw new IllegalArgumentException("no task " + args[0]);
            };
        } catch (Input.ShapeException e) {
            return Result.of("error", message(e), "usage", true);
        } catch (OrtException | RuntimeException | IOException | OutOfMemoryError e) {
            return Result.of("error", message(e), "usage", false);
        }
    }

    /** Returns the message of an exception, without ONNX Runtime's code. */
    static String message(Throwable e) {
        if (e.getCause() instanceof OutOfMemoryException exhausted) {
            return message(exhausted);
        }
        final String message = e.getMessage() == null ? e.toString() : e.getMessage();
        return message.replaceFirst("^Error code - \\S+ - message: ", "");
    }
}
