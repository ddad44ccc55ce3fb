/** The page: its data, and the file that shows them. Not exported. */
package allocator.view.page;
