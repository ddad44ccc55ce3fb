/**
 * Allocation traces: a file format, a streaming {@linkplain allocator.trace.TraceReader reader}, a
 * {@linkplain allocator.trace.TraceWriter writer}, a {@linkplain allocator.trace.Recorder recorder} of sessions, and
 * {@linkplain allocator.trace.Replay replay} through a session.
 *
 * <p>A trace is a table of comma-separated values, plain or compressed with gzip:
 *
 * <pre>
 * op,id,bytes,stream
 * a,0,4096,0
 * a,1,100,1
 * f,0,4096,0
 * </pre>
 *
 * <p>{@code a} allocates block {@code id} of {@code bytes} on {@code stream}; {@code r} allocates it by
 * {@code reserve}, which memory that stays for long is requested with and whose stream means nothing; {@code f} frees
 * it, and repeats its bytes and stream for people who read the file: readers check that they are numbers and do not
 * compare them. All numbers are decimal and not negative; ids go up to 2<sup>63</sup>-1, streams to 2<sup>31</sup>-1,
 * sizes to {@link allocator.spi.OptionKey#MAX_SIZE}. A block may still be live at the end. An id may be reused once its
 * block is freed. A line ends with a line feed, optionally after a carriage return; the last line may lack it.
 *
 * <p>The operations are the version of the format: the first has {@code a} and {@code f}, the second {@code r} too. A
 * trace without {@code r} is one of the first, and a reader of the first rejects the line of the first {@code r}.
 *
 * <p>No parameter and no result is {@code null} unless annotated.
 */
package allocator.trace;
