package allocator.spi;

import java.util.List;
import java.util.Optional;

/**
 * A provider of allocators: the service of this module, Java's counterpart of ONNX Runtime's {@code OrtEpFactory}.
 *
 * <p>A provider module declares {@code provides allocator.spi.EpFactory with ...}. Loading and constructing a factory,
 * and asking for its name, vendor, version, priority and options, touches no hardware and no native library, and needs
 * no native access (F-01); that happens in {@link #discoverDevices} at the earliest. An environment constructs one
 * factory of each provider and closes it when the provider is unregistered.
 *
 * <p>Safe for use by any thread. A method may block on the provider's locks and on the device; it never calls back into
 * the runtime.
 */
public interface EpFactory extends AutoCloseable {
    /**
     * {@return the provider's identity: a name that is case-sensitive, the same on every call, and unique in an
     * environment; not empty and without white space; any other character is allowed} It is part of option keys, so it
     * has no blanks: {@code ep_factory.<name>.arena.max_mem} and, in lower case, {@code ep.<name>.arena.max_mem}. An
     * environment rejects names that would make such keys ambiguous: names that differ only in case, and {@code a}
     * beside {@code a.b}.
     */
    String name();

    /**
     * {@return the priority of this provider among those of the same memory, the same on every call (F-02); {@code 0}
     * unless overridden} A provider with a higher priority comes before one with a lower one, and of two with the same
     * the first by name. The application may set another order. A provider that is meant to replace general ones has a
     * higher priority than {@code 0}, one that only stands in has a lower one.
     */
    default int priority() {
        return 0;
    }

    /** {@return the name of the provider's vendor, for a person to read} */
    String vendor();

    /** {@return the provider's version, for a person to read} */
    String version();

    /**
     * Searches for the hardware that this provider serves.
     *
     * <p>Missing hardware or a missing driver is not an error: the result then lists no device and the reason (F-03).
     * The result may be cached; the devices and their order do not change while the factory is open (F-02). No two
     * memories of all devices have the same location and read-only property.
     *
     * @return what was found
     */
    DeviceDiscovery discoverDevices();

    /**
     * {@return the keys that {@link #createAllocator} understands, with defaults and accepted values: the same or equal
     * ones in name, default, accepted values and description on every call (F-02); empty if there are none}
     * {@code createAllocator} rejects any other key (O-02). A key with the name of one of ONNX Runtime's arena
     * settings, such as {@code arena.initial_chunk_size_bytes}, means what it means there (O-07).
     */
    default List<OptionKey<?>> optionKeys() {
        return List.of();
    }

    /**
     * Creates the allocator of a memory that this factory lists, or returns a further reference to it.
     *
     * <p>Settings count whatever their origin (O-04). The allocator is independent of others, also of those of other
     * factories (F-10).
     *
     * <p>A provider may return the same shared instance several times. It then counts users for each memory: each
     * successful call is one reference, which one {@link #releaseAllocator} returns (F-04). Options do not change a
     * shared instance that exists; {@link Allocator#effectiveOptions} then shows the difference (O-05). With
     * {@link OptionKey#EXCLUSIVE} the caller gets an instance of its own (O-06). The caller owns the reference, the
     * provider owns the allocator.
     *
     * @implSpec The allocator's {@link Allocator#info} equals {@code info} (F-05) and its allocator type is never
     *     {@link AllocatorType#ARENA} (F-06). If this method throws, nothing was created and no reference counted
     *     (F-08).
     * @param info one of the infos of {@link #discoverDevices}
     * @param options the requested settings, of any of the keys, also for read-only memory (O-01); every key is checked
     *     before anything is created
     * @return the allocator, open and ready
     * @throws UnsupportedMemoryException if this factory does not list the location of {@code info}; it may also be
     *     thrown if {@code info} is not equal to the listed one
     * @throws InvalidOptionException if a key is unknown or a value is not accepted
     * @throws OutOfMemoryException if the device has no memory for it
     * @throws DeviceException if the driver fails otherwise
     * @throws AllocatorClosedException if this factory is closed
     */
    Allocator createAllocator(MemoryInfo info, AllocatorOptions options);

    /**
     * Returns one reference to the provider. The last one closes the allocator and returns its memory to the device
     * (F-04); its blocks are then dead.
     *
     * @param allocator an allocator that {@link #createAllocator} of this factory returned
     * @throws UnknownAllocatorException if this factory did not create the allocator, or all references were returned;
     *     nothing changes (F-07)
     * @throws DeviceException if the device keeps memory; the message names the bytes. The allocator is closed and the
     *     reference returned nevertheless, and releasing the allocator again offers the memory again (F-04)
     */
    void releaseAllocator(Allocator allocator);

    /**
     * {@return whether {@link #createSyncStream} works for a memory; {@code false} unless overridden}
     *
     * @param info one of the infos of {@link #discoverDevices}
     */
    default boolean isStreamAware(MemoryInfo info) {
        return false;
    }

    /**
     * Creates a stream on the device of a memory: the {@link EpDevice} that lists it, whose other memories it serves
     * too, wherever they are (F-10). The caller closes it.
     *
     * @param info one of the infos of {@link #discoverDevices}
     * @return a new stream
     * @throws UnsupportedMemoryException if there are no streams for {@code info}
     * @throws DeviceException if the driver fails, or the device can have no further stream until one is closed (T-07);
     *     nothing is left behind
     * @throws AllocatorClosedException if this factory is closed
     */
    default SyncStream createSyncStream(MemoryInfo info) {
        throw new UnsupportedMemoryException(name() + " has no streams for " + info);
    }

    /**
     * Makes a stream that other code has created usable here: with an id and a clock, notifications, allocations and
     * copies. The view does not own the stream. Its {@code close} waits for the stream's work, unbinds its memory, and
     * destroys nothing. The stream's owner keeps it until then; until the close, the application uses no other view of
     * it, as work that one of two clocks has ordered is unordered for the other (T-09).
     *
     * @param info one of the infos of {@link #discoverDevices}
     * @param handle the device's handle of the stream, such as a {@code CUstream}
     * @return the view, which the caller closes
     * @throws UnsupportedMemoryException if there are no views of streams for {@code info}
     * @throws IllegalArgumentException if the handle is none of a stream of the device, or the stream was destroyed, as
     *     far as the driver reports it
     * @throws IllegalStateException if the stream is one of this factory's own, or a view of it is open
     * @throws DeviceException if the driver fails
     * @throws AllocatorClosedException if this factory is closed
     */
    default SyncStream viewSyncStream(MemoryInfo info, long handle) {
        throw new UnsupportedMemoryException(name() + " has no views of streams for " + info);
    }

    /**
     * {@return the transfer that copies to, from and among this provider's memories, which is valid as long as this
     * factory is open; empty if there is none}
     */
    default Optional<DataTransfer> dataTransfer() {
        return Optional.empty();
    }

    /**
     * Closes the provider. The runtime calls it after every allocator is released and every stream is closed. A second
     * call does nothing.
     *
     * @throws IllegalStateException if allocators or streams are not released; the factory stays open (F-09)
     */
    @Override
    default void close() {}
}
