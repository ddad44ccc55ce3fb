/** How the bytes of a copy get from one memory of a session to another: directly or in pieces, through the host. */
package allocator.runtime.transfer;
