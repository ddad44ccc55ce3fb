/** A program that takes host memory from a session. */
module com.example.modules {
    requires java.allocator.runtime;
}
