package allocator.provider.support;

/**
 * Ensures that the calling thread has stack left for work that must not end half way.
 *
 * <p>A thread's stack may end at any call, and also at a loop or a monitor, with a {@link StackOverflowError} that
 * leaves a lock locked or a table torn if it is thrown between two changes. Code that calls {@link #touch} first, and
 * changes state afterwards with a few dozen shallow calls, has its stack overflow before the first change, where
 * nothing is lost.
 */
public final class StackReserve {
    /** More than 64 KiB of stack. */
    private static final int DEEP_FRAMES = 48;

    /** More than 16 KiB of stack. */
    private static final int FRAMES = 12;

    /** More than 3 KiB of stack. */
    private static final int SHALLOW_FRAMES = 2;

    /** More than 1.5 KiB of stack. */
    private static final int BRIEF_FRAMES = 1;

    /** How many calls use their whole frame now and then; by then the compiler has seen that some do. */
    private static final int WARM = 1 << 18;

    private static final long[] WORDS = new long[192];

    /** Calls so far, not exact, up to {@link #WARM}: after that nothing is written that other threads read. */
    private static int calls;

    private StackReserve() {}

    /**
     * Touches 16 KiB of the stack, in about 20 nanoseconds.
     *
     * @throws StackOverflowError if the thread has less than that left; call before the first change
     */
    public static void touch() {
        wide(FRAMES);
    }

    /**
     * Touches 64 KiB of the stack, in about 80 nanoseconds: enough for work that initializes classes or links lambda
     * expressions.
     *
     * @throws StackOverflowError if the thread has less than that left; call before the first change
     */
    public static void touchDeep() {
        wide(DEEP_FRAMES);
    }

    /**
     * Touches 3 KiB of the stack, in about 5 nanoseconds: enough for work of a few short calls that make no deep ones,
     * on a path where {@code touch} would cost too much.
     *
     * @throws StackOverflowError if the thread has less than that left; call before the first change
     */
    public static void touchShallow() {
        wide(SHALLOW_FRAMES);
    }

    /**
     * Touches 1.5 KiB of the stack, in about 3 nanoseconds: enough for a lock and an entry in a table.
     *
     * @throws StackOverflowError if the thread has less than that left; call before the first change
     */
    public static void touchBriefly() {
        wide(BRIEF_FRAMES);
    }

    /**
     * Runs work on a thread of its own and waits for it: for work that initializes classes, or needs much stack. A
     * class whose initializer runs out of stack is unusable for the rest of the process. An interrupt does not end the
     * wait, and is set again after it.
     *
     * @param threadName the name of the thread
     * @param stackBytes the stack of that thread in bytes, as {@link Thread} takes it
     * @param work the work, which throws nothing
     * @throws StackOverflowError if the calling thread has less than 16 KiB of stack left; the work has not begun
     * @throws OutOfMemoryError if no thread can be started; the work has not begun
     */
    public static void runOnOwnStack(String threadName, long stackBytes, Runnable work) {
        touch();
        final Thread thread = new Thread(null, work, threadName, stackBytes);
        thread.setDaemon(true);
        thread.start();
        boolean isInterrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                isInterrupted = true;
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Has a frame of more than 1.5 KiB, compiled or interpreted: room for values that a branch keeps across a call. The
     * branch is hardly ever taken, so that the frame costs little more than its entry. A frame is touched by the entry
     * of the next one, and the last by that of a call that does nothing. The method is too large to be inlined.
     */
    private static void wide(int frames) {
        if (frames == 0) {
            return;
        }
        if (calls < WARM && (++calls & 0xFF) == 0) {
            final long[] w = WORDS;
            final long v0 = w[0], v1 = w[1], v2 = w[2], v3 = w[3], v4 = w[4], v5 = w[5];
            final long v6 = w[6], v7 = w[7], v8 = w[8], v9 = w[9], v10 = w[10], v11 = w[11];
            final long v12 = w[12], v13 = w[13], v14 = w[14], v15 = w[15], v16 = w[16], v17 = w[17];
            final long v18 = w[18], v19 = w[19], v20 = w[20], v21 = w[21], v22 = w[22], v23 = w[23];
            final long v24 = w[24], v25 = w[25], v26 = w[26], v27 = w[27], v28 = w[28], v29 = w[29];
            final long v30 = w[30], v31 = w[31], v32 = w[32], v33 = w[33], v34 = w[34], v35 = w[35];
            final long v36 = w[36], v37 = w[37], v38 = w[38], v39 = w[39], v40 = w[40], v41 = w[41];
            final long v42 = w[42], v43 = w[43], v44 = w[44], v45 = w[45], v46 = w[46], v47 = w[47];
            final long v48 = w[48], v49 = w[49], v50 = w[50], v51 = w[51], v52 = w[52], v53 = w[53];
            final long v54 = w[54], v55 = w[55], v56 = w[56], v57 = w[57], v58 = w[58], v59 = w[59];
            final long v60 = w[60], v61 = w[61], v62 = w[62], v63 = w[63], v64 = w[64], v65 = w[65];
            final long v66 = w[66], v67 = w[67], v68 = w[68], v69 = w[69], v70 = w[70], v71 = w[71];
            final long v72 = w[72], v73 = w[73], v74 = w[74], v75 = w[75], v76 = w[76], v77 = w[77];
            final long v78 = w[78], v79 = w[79], v80 = w[80], v81 = w[81], v82 = w[82], v83 = w[83];
            final long v84 = w[84], v85 = w[85], v86 = w[86], v87 = w[87], v88 = w[88], v89 = w[89];
            final long v90 = w[90], v91 = w[91], v92 = w[92], v93 = w[93], v94 = w[94], v95 = w[95];
            final long v96 = w[96], v97 = w[97], v98 = w[98], v99 = w[99], v100 = w[100], v101 = w[101];
            final long v102 = w[102], v103 = w[103], v104 = w[104], v105 = w[105], v106 = w[106];
            final long v107 = w[107], v108 = w[108], v109 = w[109], v110 = w[110], v111 = w[111];
            final long v112 = w[112], v113 = w[113], v114 = w[114], v115 = w[115], v116 = w[116];
            final long v117 = w[117], v118 = w[118], v119 = w[119], v120 = w[120], v121 = w[121];
            final long v122 = w[122], v123 = w[123], v124 = w[124], v125 = w[125], v126 = w[126];
            final long v127 = w[127], v128 = w[128], v129 = w[129], v130 = w[130], v131 = w[131];
            final long v132 = w[132], v133 = w[133], v134 = w[134], v135 = w[135], v136 = w[136];
            final long v137 = w[137], v138 = w[138], v139 = w[139], v140 = w[140], v141 = w[141];
            final long v142 = w[142], v143 = w[143], v144 = w[144], v145 = w[145], v146 = w[146];
            final long v147 = w[147], v148 = w[148], v149 = w[149], v150 = w[150], v151 = w[151];
            final long v152 = w[152], v153 = w[153], v154 = w[154], v155 = w[155], v156 = w[156];
            final long v157 = w[157], v158 = w[158], v159 = w[159], v160 = w[160], v161 = w[161];
            final long v162 = w[162], v163 = w[163], v164 = w[164], v165 = w[165], v166 = w[166];
            final long v167 = w[167], v168 = w[168], v169 = w[169], v170 = w[170], v171 = w[171];
            final long v172 = w[172], v173 = w[173], v174 = w[174], v175 = w[175], v176 = w[176];
            final long v177 = w[177], v178 = w[178], v179 = w[179], v180 = w[180], v181 = w[181];
            final long v182 = w[182], v183 = w[183], v184 = w[184], v185 = w[185], v186 = w[186];
            final long v187 = w[187], v188 = w[188], v189 = w[189], v190 = w[190], v191 = w[191];
            wide(frames - 1);
            long s = 0;
            s += v0 ^ v1 ^ v2 ^ v3 ^ v4 ^ v5 ^ v6 ^ v7 ^ v8 ^ v9 ^ v10 ^ v11;
            s += v12 ^ v13 ^ v14 ^ v15 ^ v16 ^ v17 ^ v18 ^ v19 ^ v20 ^ v21 ^ v22 ^ v23;
            s += v24 ^ v25 ^ v26 ^ v27 ^ v28 ^ v29 ^ v30 ^ v31 ^ v32 ^ v33 ^ v34 ^ v35;
            s += v36 ^ v37 ^ v38 ^ v39 ^ v40 ^ v41 ^ v42 ^ v43 ^ v44 ^ v45 ^ v46 ^ v47;
            s += v48 ^ v49 ^ v50 ^ v51 ^ v52 ^ v53 ^ v54 ^ v55 ^ v56 ^ v57 ^ v58 ^ v59;
            s += v60 ^ v61 ^ v62 ^ v63 ^ v64 ^ v65 ^ v66 ^ v67 ^ v68 ^ v69 ^ v70 ^ v71;
            s += v72 ^ v73 ^ v74 ^ v75 ^ v76 ^ v77 ^ v78 ^ v79 ^ v80 ^ v81 ^ v82 ^ v83;
            s += v84 ^ v85 ^ v86 ^ v87 ^ v88 ^ v89 ^ v90 ^ v91 ^ v92 ^ v93 ^ v94 ^ v95;
            s += v96 ^ v97 ^ v98 ^ v99 ^ v100 ^ v101 ^ v102 ^ v103 ^ v104 ^ v105 ^ v106 ^ v107;
            s += v108 ^ v109 ^ v110 ^ v111 ^ v112 ^ v113 ^ v114 ^ v115 ^ v116 ^ v117 ^ v118 ^ v119;
            s += v120 ^ v121 ^ v122 ^ v123 ^ v124 ^ v125 ^ v126 ^ v127 ^ v128 ^ v129 ^ v130 ^ v131;
            s += v132 ^ v133 ^ v134 ^ v135 ^ v136 ^ v137 ^ v138 ^ v139 ^ v140 ^ v141 ^ v142 ^ v143;
            s += v144 ^ v145 ^ v146 ^ v147 ^ v148 ^ v149 ^ v150 ^ v151 ^ v152 ^ v153 ^ v154 ^ v155;
            s += v156 ^ v157 ^ v158 ^ v159 ^ v160 ^ v161 ^ v162 ^ v163 ^ v164 ^ v165 ^ v166 ^ v167;
            s += v168 ^ v169 ^ v170 ^ v171 ^ v172 ^ v173 ^ v174 ^ v175 ^ v176 ^ v177 ^ v178 ^ v179;
            s += v180 ^ v181 ^ v182 ^ v183 ^ v184 ^ v185 ^ v186 ^ v187 ^ v188 ^ v189 ^ v190 ^ v191;
            w[0] = s;
        } else {
            wide(frames - 1);
        }
    }
}
