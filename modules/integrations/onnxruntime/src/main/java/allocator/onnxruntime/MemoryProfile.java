package allocator.onnxruntime;

import allocator.runtime.snapshot.BlockName;
import allocator.spi.MemoryInfo;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.StringJoiner;
import java.util.function.Function;

/**
 * Which operators have a session's memory: what {@link AllocatorSession#profile} returns. Of the run that later runs of
 * the same shapes are like. {@link #toString} is a table.
 *
 * <p>All sizes are requested bytes, as in {@link AllocatorSession#stats}.
 *
 * @param peaks for each memory of the session, what was live when most was; in the order of
 *     {@link AllocatorSession#memories}
 * @param allocations the allocations of the run, of all memories, in their order
 * @param elsewhere the bytes of the process that come from elsewhere: its resident memory after the run, less what the
 *     installation's allocators hold of the host's memory, and not below 0. The heap, classes and compiled code of the
 *     JVM, ONNX Runtime's own memory, other libraries and other allocators of the process are part of it. Memory that
 *     is held and was never written to is not resident, so there may be more. Empty except on Linux, and if an
 *     allocator fails to report what it holds
 */
public record MemoryProfile(List<Peak> peaks, List<Allocation> allocations, OptionalLong elsewhere) {
    private static final int MOST_NODES = 10;

    /** Copies the lists. */
    public MemoryProfile {
        peaks = List.copyOf(peaks);
        allocations = List.copyOf(allocations);
    }

    /** {@return the peak of the session's first memory} */
    public Peak peak() {
        return peaks.getFirst();
    }

    /** What memory is for. */
    public enum Kind {
        /** Allocated while the session was opened: weights, packed or not, which belong to no one operator. */
        WEIGHT,
        /** Allocated by an operator and still held after the run: weights that it has packed, and other state of it. */
        PACKED_WEIGHT,
        /** A tensor between operators. */
        ACTIVATION,
        /** Freed by the operator that allocated it, before it ended. */
        SCRATCH,
        /** A copy of an input on a device. */
        INPUT,
        /** A tensor of the run's result. */
        OUTPUT,
        /** Not known: live before, or allocated where no operator ran, or by another thread. */
        UNKNOWN;

        /** {@return the kind in plain words} */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
    }

    /**
     * Memory with a name.
     *
     * @param memory the memory
     * @param byteSize the bytes
     * @param node the name of the operator, {@code inputs}, {@code outputs} or {@code weights} for what is no
     *     operator's; {@code memory pattern} for the block in which ONNX Runtime lays out the activations of a run;
     *     {@code unknown}
     * @param operator the operator's type, such as {@code MatMul}; empty if it is none
     * @param kind what it is for
     */
    public record Allocation(MemoryInfo memory, long byteSize, String node, String operator, Kind kind) {
        /** {@return the layer, as {@link BlockName#layer} of the node} */
        public String layer() {
            return name().layer();
        }

        /** {@return node, operator and kind, as snapshots name the block} */
        @Override
        public String toString() {
            return name().toString();
        }

        private BlockName name() {
            return new BlockName(node, operator, kind.toString(), "");
        }
    }

    /**
     * What was live in a memory when most was. The block of a memory pattern, which is held for the whole run, is
     * listed as the tensors that are in it when most of it is used; {@code memory pattern} is what they leave of it.
     *
     * @param memory the memory
     * @param live what was live; weights are one entry, and so is what is unknown of earlier runs
     */
    public record Peak(MemoryInfo memory, List<Allocation> live) {
        /** Copies the list. */
        public Peak {
            live = List.copyOf(live);
        }

        /** {@return the bytes in use, the sum of all that was live} */
        public long bytes() {
            return live.stream().mapToLong(Allocation::byteSize).sum();
        }

        /** {@return the bytes whose operator or kind is not known} */
        public long unknownBytes() {
            return live.stream()
                    .filter(one -> one.kind() == Kind.UNKNOWN)
                    .mapToLong(Allocation::byteSize)
                    .sum();
        }

        /** {@return the bytes of each operator, most first} */
        public List<Share> byNode() {
            return shares(Allocation::node);
        }

        /** {@return the bytes of each {@linkplain Allocation#layer layer}, most first} */
        public List<Share> byLayer() {
            return shares(Allocation::layer);
        }

        /** {@return the bytes of each kind, most first} */
        public List<Share> byKind() {
            return shares(one -> one.kind().toString());
        }

        private List<Share> shares(Function<Allocation, String> name) {
            final Map<String, Long> bytes = new HashMap<>();
            live.forEach(one -> bytes.merge(name.apply(one), one.byteSize(), Long::sum));
            return bytes.entrySet().stream()
                    .map(entry -> new Share(entry.getKey(), entry.getValue()))
                    .sorted(Comparator.comparingLong(Share::bytes).reversed().thenComparing(Share::name))
                    .toList();
        }

        /** {@return the peak as a table: by kind, by layer, and the operators with most} */
        @Override
        public String toString() {
            final StringBuilder text =
                    new StringBuilder("peak of ").append(memory).append(": ").append(MemoryDump.size(bytes()));
            append(text, "kind", byKind());
            append(text, "layer", byLayer());
            append(text, "operator", byNode());
            return text.toString();
        }

        private void append(StringBuilder text, String title, List<Share> shares) {
            text.append("\nby ").append(title);
            shares.stream()
                    .limit(MOST_NODES)
                    .forEach(share -> text.append(String.format(
                            Locale.ROOT,
                            "\n%,15d %5.1f %%  %s",
                            share.bytes(),
                            100.0 * share.bytes() / bytes(),
                            share.name())));
            if (shares.size() > MOST_NODES) {
                text.append("\n            and ")
                        .append(shares.size() - MOST_NODES)
                        .append(" more");
            }
        }
    }

    /**
     * Bytes that have something in common.
     *
     * @param name what it is
     * @param bytes how many there are
     */
    public record Share(String name, long bytes) {}

    /** {@return the peak of each memory in which anything was live, as tables, and what is from elsewhere} */
    @Override
    public String toString() {
        final StringJoiner text = new StringJoiner("\n");
        peaks.stream().filter(peak -> !peak.live().isEmpty()).forEach(peak -> text.add(peak.toString()));
        elsewhere.ifPresent(bytes -> text.add("from elsewhere: " + MemoryDump.size(bytes)
                + ": resident memory of the process, less what the allocators hold"));
        return text.toString();
    }
}
