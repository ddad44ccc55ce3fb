/** A vendor's provider that builds on the module of CUDA memory. */
module com.example.gpu {
    requires java.allocator.cuda.memory;
    requires java.allocator.cuda.simulated;

    provides allocator.spi.EpFactory with
            com.example.gpu.VendorGpuFactory;
}
