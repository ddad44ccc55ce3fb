/** Host memory in powers of two: a sample of a third-party provider. */
module com.example.buddy {
    requires java.allocator.provider.support;
    requires java.allocator.spi;

    provides allocator.spi.EpFactory with
            com.example.buddy.BuddyFactory;
}
