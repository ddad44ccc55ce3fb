/** A provider over the C library's malloc, in one file. */
module com.example.malloc {
    requires java.allocator.provider.support;
    requires java.allocator.spi;

    provides allocator.spi.EpFactory with
            com.example.malloc.MallocFactory;
}
