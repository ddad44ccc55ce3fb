package allocator.cuda.memory;

import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** The access that the work of other devices has to the memory of one. Copies between devices need none. */
public final class PeerAccess {
    private static final String PREFIX = "gpu:";

    /** {@code arena.peer_access}. */
    public static final OptionKey<List<String>> KEY = OptionKey.list(
            "arena.peer_access",
            Pattern.compile(PREFIX + "[0-9]{1,3}"),
            "a list of different gpu:<ordinal> separated by ';'",
            "devices whose work may access this memory; empty for none, and the memory's own device always may");

    private PeerAccess() {}

    /**
     * {@return the ordinals of the devices in the list, in its order}
     *
     * @param options settings
     * @throws InvalidOptionException if the value is not accepted
     */
    public static List<Integer> ordinals(AllocatorOptions options) {
        return options.get(KEY).stream()
                .map(entry -> Integer.parseInt(entry.substring(PREFIX.length())))
                .toList();
    }

    /**
     * Returns the devices that get access to the memory of a device.
     *
     * @param served the devices that the provider serves
     * @throws InvalidOptionException if one is not served, or cannot access the memory
     * @throws allocator.cuda.driver.CudaException if the driver fails
     */
    static List<CudaDevice> peers(AllocatorOptions options, CudaDevice device, Supplier<List<CudaDevice>> served) {
        final List<CudaDevice> peers = new ArrayList<>();
        for (int ordinal : ordinals(options)) {
            if (ordinal == device.ordinal()) {
                continue;
            }
            final CudaDevice peer = served.get().stream()
                    .filter(candidate -> candidate.ordinal() == ordinal)
                    .findFirst()
                    .orElseThrow(() -> rejected(options, "devices of this provider; " + PREFIX + ordinal + " is none"));
            if (!device.driver().devices().deviceCanAccessPeer(ordinal, device.ordinal())) {
                throw rejected(
                        options,
                        "devices that can access the memory of %s%d (cuDeviceCanAccessPeer); %s%d cannot"
                                .formatted(PREFIX, device.ordinal(), PREFIX, ordinal));
            }
            peers.add(peer);
        }
        return peers;
    }

    private static InvalidOptionException rejected(AllocatorOptions options, String accepted) {
        return new InvalidOptionException(
                KEY.name(), KEY.format(options.get(KEY)), "a list of " + accepted, options.origin(KEY.name()));
    }

    /**
     * Lets the work of devices access the memory of a device, except that of pools.
     *
     * @throws allocator.cuda.driver.CudaException if the driver fails
     */
    static void enable(CudaDevice device, List<CudaDevice> peers) {
        for (CudaDevice peer : peers) {
            peer.requireContext();
            device.driver().devices().ctxEnablePeerAccess(peer.ordinal(), device.ordinal());
        }
    }
}
