package allocator.bench.compare;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A built tree, used through its {@code bench/side} and nothing else.
 *
 * @param name the commit, for messages
 * @param tree the root of its working tree, built
 * @param processors where the JVMs of a lane run
 */
record SideClient(String name, Path tree, Processors processors) implements Meter {
    /** Checks that the side knows the subject and the workload of each cell. */
    void requireKnown(List<Cell> cells) throws SideFailedException, IOException, InterruptedException {
        final SideProtocol.Offer offer;
        try (SideProcess process = start(name, List.of(), List.of(), "list")) {
            offer = process.readOffer();
        }
        for (final Cell cell : cells) {
            requireKnown("subject", cell.subject(), offer.subjects());
            requireKnown("workload", cell.workload(), offer.workloads());
        }
    }

    private void requireKnown(String kind, String wanted, List<String> known) throws SideFailedException {
        if (!known.contains(wanted)) {
            throw new SideFailedException(
                    name + ": no " + kind + " is called '" + wanted + "'; there are " + String.join(", ", known));
        }
    }

    @Override
    public Sampler open(Cell cell, List<String> jvmOptions, int lane) throws IOException {
        return start(
                name + ": " + cell.subjectText() + " under " + cell.workload(),
                processors.of(lane),
                jvmOptions,
                "measure",
                cell.subject(),
                cell.workload(),
                String.valueOf(cell.threads()));
    }

    private SideProcess start(String what, List<String> before, List<String> jvmOptions, String... arguments)
            throws IOException {
        final List<String> command = new ArrayList<>(before);
        command.add(tree.resolve("bench").resolve("side").toString());
        command.addAll(List.of(arguments));
        return new SideProcess(what, command, jvmOptions);
    }
}
