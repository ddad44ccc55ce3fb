/** A small day's work of an application, with each provider that it finds. */
module com.example.day {
    requires java.allocator.runtime;
    requires static java.allocator.cuda.simulated;

    uses allocator.spi.EpFactory;
}
