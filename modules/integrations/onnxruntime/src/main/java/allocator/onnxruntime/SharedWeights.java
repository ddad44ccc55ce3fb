package allocator.onnxruntime;

import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.PagedReserves;
import allocator.spi.RemappableReserves;
import allocator.spi.UnsupportedMemoryException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Gives equal weights of sessions one copy in one memory of an installation, if
 * {@link OnnxRuntimeAllocators#SHARE_WEIGHTS} asks for it.
 *
 * <p>A session's weights are shared when it has been opened, before a caller has it: so no run of it is in flight that
 * could write a weight while its pages are exchanged. A session of the processor that writes later gets pages of its
 * own, and every other one is mapped to the copy, which no session writes; on a GPU a write is an error.
 */
final class SharedWeights {
    private static final Logger LOG = System.getLogger(ExportedAllocator.class.getName());

    private final Allocator allocator;
    private final @Nullable PagedReserves reserves;
    private volatile boolean isSharing;
    private volatile @Nullable String obstacle;

    SharedWeights(Allocator allocator, boolean areShared) {
        this.allocator = allocator;
        reserves = allocator.as(PagedReserves.class).orElse(null);
        isSharing = areShared && reserves != null;
        if (!areShared) {
            obstacle = OnnxRuntimeAllocators.SHARE_WEIGHTS + " is not set for this memory";
        } else if (reserves == null) {
            report("its allocator cannot exchange the pages of reserves"
                    + (allocator.info().deviceType() == DeviceType.GPU
                            ? "; cuda-arena can with arena.paged_reserves=1, virtual memory and any policy but bump"
                            : ""));
        }
    }

    /** Returns why weights are not shared, empty if they are. */
    Optional<String> obstacle() {
        return Optional.ofNullable(obstacle);
    }

    /** Returns what is saved, in bytes. */
    long savedBytes() {
        return reserves == null ? 0 : reserves.sharedBytes();
    }

    /** Returns which copy a weight has; {@code 0} for one of its own, or if that is not known. */
    long copyOf(long address) {
        return reserves == null ? 0 : reserves.copyOf(address);
    }

    /** Gives a weight with a copy, whose bytes came from the host, that copy again. */
    void shareAgain(long address) {
        if (reserves != null && copyOf(address) != 0) {
            reserves.share(address);
        }
    }

    /**
     * Shares the weights of a session that was just opened. After a failure no more are shared, or not with processes.
     *
     * @throws DeviceException if the session has lost weights, as the device fails again and again
     */
    void share(ExportedAllocator export) {
        if (!isSharing) {
            return;
        }
        try {
            try {
                export.target().as(PagedReserves.class).ifPresent(export::share);
            } catch (UnsupportedMemoryException e) { // with other processes; the next call is without them
                export.target().as(PagedReserves.class).ifPresent(export::share);
                report(Failures.describe(e));
            }
        } catch (Throwable e) {
            isSharing = false;
            report(Failures.describe(e));
            final RemappableReserves pages =
                    allocator.as(RemappableReserves.class).orElse(null);
            export.forEach((address, byteSize, name) -> {
                if (pages != null && pages.mappedBytes(address) == 0) {
                    throw new DeviceException(export.session() + " has lost weights: " + obstacle, e);
                }
            });
        }
    }

    private void report(String reason) {
        obstacle = reason;
        try {
            LOG.log(Level.WARNING, "{0}: weights of sessions are not shared as set: {1}", allocator.info(), reason);
        } catch (Throwable e) {
            // A log that fails fails no session.
        }
    }
}
