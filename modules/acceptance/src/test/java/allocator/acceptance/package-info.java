/** Uses what is shipped, and nothing else, as its users do. */
package allocator.acceptance;
