package allocator.bench.compare;

import java.util.ArrayList;
import java.util.List;

/** What one row of the table is about. */
record Cell(String subject, int threads, String workload) {
    /** A subject and the number of threads that share it: {@code NAME} or {@code NAME:THREADS}. */
    static List<Cell> of(List<String> subjects, List<String> workloads) {
        final List<Cell> cells = new ArrayList<>();
        for (final String subject : subjects) {
            final int colon = subject.indexOf(':');
            final String name = colon < 0 ? subject : subject.substring(0, colon);
            final int threads = colon < 0 ? 1 : threads(subject, subject.substring(colon + 1));
            workloads.forEach(workload -> cells.add(new Cell(name, threads, workload)));
        }
        return cells.stream().distinct().toList();
    }

    private static int threads(String subject, String text) {
        if (!text.matches("[1-9][0-9]{0,2}")) {
            throw new IllegalArgumentException("--subjects takes NAME or NAME:THREADS: " + subject);
        }
        return Integer.parseInt(text);
    }

    /** The subject as in {@code --subjects}. */
    String subjectText() {
        return threads == 1 ? subject : subject + ":" + threads;
    }
}
