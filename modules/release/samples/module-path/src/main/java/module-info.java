/** A program that takes host memory from a session. */
module com.example.first {
    requires java.allocator.runtime;
}
