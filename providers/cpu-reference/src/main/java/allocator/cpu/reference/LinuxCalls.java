package allocator.cpu.reference;

/**
 * The calls of Linux that map memory: {@link NativeLinuxCalls}, but for tests. Each returns what the system does, or
 * the negative of {@code errno} where it fails. The numbers of flags are those of x86, Arm, RISC-V and S/390; PowerPC
 * has another one for {@code MAP_NORESERVE} and ignores this one.
 */
interface LinuxCalls {
    int MFD_CLOEXEC = 1;
    int MFD_ALLOW_SEALING = 2;
    int MFD_NOEXEC_SEAL = 8;

    int F_ADD_SEALS = 1033;
    int F_GET_SEALS = 1034;
    int ALL_SEALS = 0xF;

    int FALLOC_FL_KEEP_SIZE = 1;
    int FALLOC_FL_PUNCH_HOLE = 2;

    int PROT_NONE = 0;
    int PROT_READ = 1;
    int PROT_WRITE = 2;

    int MAP_SHARED = 1;
    int MAP_PRIVATE = 2;
    int MAP_FIXED = 0x10;
    int MAP_ANONYMOUS = 0x20;
    int MAP_NORESERVE = 0x4000;
    int MAP_POPULATE = 0x8000;

    int MREMAP_MAYMOVE = 1;
    int MREMAP_FIXED = 2;
    int MREMAP_DONTUNMAP = 4;

    int ENOMEM = 12;
    int EINVAL = 22;
    int ENFILE = 23;
    int EMFILE = 24;
    int EFBIG = 27;
    int ENOSPC = 28;
    int ENOSYS = 38;
    int EOPNOTSUPP = 95;

    /** The size of the system's own pages. */
    long getpagesize();

    /** Creates a file that is memory and has no name; the name is for people who look at the process. */
    long memfdCreate(int flags);

    /** Opens a file to read it, without waiting for it. */
    long open(String path);

    long fcntl(int file, int command, int argument);

    long ftruncate(int file, long byteSize);

    /** Writes some of the bytes at an address to a file, and returns how many. */
    long write(int file, long address, long byteSize);

    long fallocate(int file, int mode, long offset, long byteSize);

    long mmap(long address, long byteSize, int protection, int flags, int file, long offset);

    /**
     * Moves the entries of a mapping in the system's tables to another address, where it replaces what is mapped; with
     * {@link #MREMAP_DONTUNMAP} the mapping stays as well, and finds its memory again at the next use. Fails with
     * {@link #ENOSYS}, and changes nothing, before Linux 5.13, which cannot do so with shared memory.
     */
    long mremap(long address, long byteSize, int flags, long newAddress);

    long munmap(long address, long byteSize);

    long close(int file);
}
