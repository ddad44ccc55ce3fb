package allocator.bench.compare;

import allocator.bench.pairs.Workload;
import allocator.bench.subject.SubjectType;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * What {@code bench/side} starts: measures this tree and talks to the comparing program as {@code SideProtocol} says.
 *
 * <p>Arguments: {@code list}, or {@code measure}, subject, workload and number of threads.
 */
public final class Side {
    private Side() {}

    /**
     * Lists or measures.
     *
     * @param args as above
     * @throws Exception if an argument is wrong or the subject fails
     */
    public static void main(String[] args) throws Exception {
        run(System.in, System.out, args);
        System.out.flush();
        System.exit(0); // Some subjects leave threads behind.
    }

    static void run(InputStream in, PrintStream out, String... args) throws Exception {
        if (args.length == 1 && args[0].equals("list")) {
            out.print(SideProtocol.toText(new SideProtocol.Offer(
                    SubjectType.OWN.stream().map(SubjectType::toString).toList(), Workload.names())));
        } else if (args.length == 4 && args[0].equals("measure")) {
            out.println(SideProtocol.HEADER);
            final SubjectType subject = SubjectType.of(args[1]);
            final BufferedReader input = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
            PlayedWindows.play(
                    subject,
                    args[2],
                    Integer.parseInt(args[3]),
                    () -> out.println(SideProtocol.READY),
                    () -> hasLine(input),
                    nanos -> out.println(SideProtocol.toLine(nanos)));
        } else {
            throw new IllegalArgumentException(
                    "not 'list' or 'measure SUBJECT WORKLOAD THREADS': " + String.join(" ", args));
        }
    }

    private static boolean hasLine(BufferedReader input) {
        try {
            return input.readLine() != null;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
