/** Host memory as a provider. Nothing is exported: the provider is reached through its service. */
package allocator.cpu.reference;
