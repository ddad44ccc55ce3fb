package exam.tlsf;

/** A span that is divided into blocks. */
final class Region {
    final HostPool.Span span = new HostPool.Span();
    Block first;
    int live;
    boolean isFirst;
    Region next;
}
