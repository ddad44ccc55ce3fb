package allocator.simulation.schedule;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs simulated threads, one at a time. A seed decides at which of the {@link Points} of instrumented code another
 * thread goes on, and which; the same seed gives the same run.
 *
 * <p>One scheduler runs at a time in a JVM.
 */
@SuppressWarnings("ReferenceEquality") // a task and a monitor are themselves only
public final class Scheduler {
    /** Switches without any progress after which all threads count as blocked. */
    private static final int MOST_BLOCKED = 20_000;

    private static volatile Scheduler active;

    private final SplittableRandom random;
    private final int meanRun;

    /** At one in so many switches the thread that stops does not go on for long; 0 for none. */
    private final int pauseEvery;

    private final long mostSteps;
    private final List<Task> tasks = new ArrayList<>();
    private final IdentityHashMap<Object, Owner> monitors = new IdentityHashMap<>();
    private volatile Task running;
    private volatile Thread starter;
    private volatile boolean isOver;
    private Throwable failure;
    private int untilSwitch;
    private int blockedInARow;
    private @Nullable AssertionError hang;
    private long steps;
    private long fingerprint;

    private static final class Owner {
        private final Task task;
        private int depth;

        private Owner(Task task) {
            this.task = task;
        }
    }

    /** Creates a scheduler; a program counts as hanging after so many points. */
    public Scheduler(long seed, long mostSteps) {
        random = new SplittableRandom(seed);
        this.mostSteps = mostSteps;
        final int[] means = {1, 3, 10, 40, 200};
        meanRun = means[random.nextInt(means.length)];
        final int[] rates = {0, 0, 4, 16, 64};
        pauseEvery = rates[random.nextInt(rates.length)];
    }

    /** Returns the scheduler if the product runs in one of its threads. */
    static Scheduler active() {
        final Scheduler scheduler = active;
        if (scheduler == null) {
            return null;
        }
        final Task task = scheduler.running;
        return task.isInProduct && task.initializations == 0 ? scheduler : null;
    }

    /** Counts the initialization of a class: nothing is scheduled in it, since other threads would wait in the JVM. */
    static void initialize(int change) {
        final Scheduler scheduler = active;
        if (scheduler != null) {
            scheduler.running.initializations += change;
        }
    }

    /** Calls the product: only here do other threads go on, and failures come. */
    public static long call(LongSupplier call) {
        final Scheduler scheduler = active;
        if (scheduler == null) {
            return call.getAsLong();
        }
        final Task task = scheduler.running;
        final boolean wasInProduct = task.isInProduct;
        task.isInProduct = true;
        try {
            return call.getAsLong();
        } finally {
            task.isInProduct = wasInProduct;
        }
    }

    /** Calls the model from within the product. */
    public static long outside(LongSupplier call) {
        final Scheduler scheduler = active();
        if (scheduler == null) {
            return call.getAsLong();
        }
        final Task task = scheduler.running;
        task.isInProduct = false;
        try {
            return call.getAsLong();
        } finally {
            task.isInProduct = true;
        }
    }

    /** Calls the product, as {@link #call(LongSupplier)} does. */
    public static void call(Runnable call) {
        call(() -> {
            call.run();
            return 0;
        });
    }

    /** Returns the number of the thread that runs, from 1. */
    int number() {
        return tasks.indexOf(running) + 1;
    }

    Task running() {
        return running;
    }

    /** Returns the task of the calling simulated thread. */
    public static Task current() {
        return active.running;
    }

    /** Returns a number that runs share if each of their threads went on at the same points. */
    public long fingerprint() {
        return fingerprint;
    }

    /** Returns how many points were reached. */
    long steps() {
        return steps;
    }

    /** Runs threads to their ends, or to the first failure, which it throws; others are abandoned where they are. */
    public void run(List<Runnable> bodies) throws Throwable {
        starter = Thread.currentThread();
        for (final Runnable body : bodies) {
            final int number = tasks.size();
            final Thread thread = Thread.ofVirtual().unstarted(() -> runTask(number, body));
            tasks.add(new Task(thread));
        }
        tasks.forEach(task -> task.thread.start());
        active = this;
        running = tasks.get(random.nextInt(tasks.size()));
        LockSupport.unpark(running.thread);
        while (!isOver) {
            LockSupport.park(this);
        }
        active = null;
        if (failure != null) {
            throw failure;
        }
    }

    private void runTask(int number, Runnable body) {
        final Task self = tasks.get(number);
        awaitTurn(self);
        try {
            body.run();
        } catch (Throwable e) {
            failure = e;
            end();
            return;
        }
        self.hasEnded = true;
        blockedInARow = 0;
        final Task next = choose(self);
        if (next == null) {
            end();
        } else {
            running = next;
            LockSupport.unpark(next.thread);
        }
    }

    private void end() {
        active = null;
        isOver = true;
        LockSupport.unpark(starter);
    }

    private void awaitTurn(Task self) {
        while (running != self) {
            LockSupport.park(this);
        }
    }

    /** Lets another thread go on, if the seed says so. */
    void reached() {
        blockedInARow = 0;
        if (++steps > mostSteps) {
            throw hang();
        }
        if (--untilSwitch < 0) {
            untilSwitch = random.nextInt(2 * meanRun);
            pauseSometimes();
            switchTo(choose(null));
        }
    }

    /** Stops the running thread until others have made many steps: whole operations, within one of its own. */
    private void pauseSometimes() {
        if (pauseEvery > 0 && random.nextInt(pauseEvery) == 0) {
            running.pausedUntil = steps + random.nextInt(1 << random.nextInt(4, 14));
        }
    }

    /** Returns the same error again at steps that its own handlers make, so that it says where the program hangs. */
    private AssertionError hang() {
        AssertionError error = hang;
        if (error == null) {
            error = new AssertionError("the program hangs: " + steps + " steps");
            hang = error;
        }
        return error;
    }

    /** Lets another thread go on, as the calling one waits for it. */
    void block() {
        if (++blockedInARow > MOST_BLOCKED) {
            throw new AssertionError("all threads wait");
        }
        if (blockedInARow > tasks.size()) {
            tasks.forEach(task -> task.pausedUntil = 0); // the others may wait for one that pauses
        }
        final Task next = choose(running);
        switchTo(next == null ? running : next);
    }

    private void switchTo(Task next) {
        final Task self = running;
        fingerprint = 31 * (31 * fingerprint + steps) + tasks.indexOf(next);
        if (next != self) {
            running = next;
            LockSupport.unpark(next.thread);
            awaitTurn(self);
        }
    }

    /** Returns a thread that has not ended, other than one; {@code null} if none. One that pauses comes last. */
    private Task choose(Task other) {
        final List<Task> ready = new ArrayList<>(tasks.size());
        final List<Task> paused = new ArrayList<>(tasks.size());
        for (final Task task : tasks) {
            if (!task.hasEnded && task != other) {
                (task.pausedUntil > steps ? paused : ready).add(task);
            }
        }
        final List<Task> candidates = ready.isEmpty() ? paused : ready;
        return candidates.isEmpty() ? null : candidates.get(random.nextInt(candidates.size()));
    }

    /** Leaves a monitor, awaits a notification and enters the monitor again. */
    void await(Object monitor) {
        final Owner owner = owner(monitor);
        final Task self = running;
        monitors.remove(monitor);
        self.awaited = monitor;
        while (self.awaited != null) {
            block();
        }
        while (monitors.containsKey(monitor)) {
            block();
        }
        monitors.put(monitor, owner);
    }

    /** Notifies all threads that await it. */
    void notifyAll(Object monitor) {
        owner(monitor);
        for (final Task task : tasks) {
            if (task.awaited == monitor) {
                task.awaited = null;
            }
        }
    }

    private Owner owner(Object monitor) {
        final Owner owner = monitors.get(monitor);
        if (owner == null || owner.task != running) {
            throw new IllegalMonitorStateException("the thread is not in the monitor");
        }
        return owner;
    }

    void enter(Object monitor) {
        reached();
        Owner owner = monitors.get(monitor);
        while (owner != null && owner.task != running) {
            block();
            owner = monitors.get(monitor);
        }
        if (owner == null) {
            owner = new Owner(running);
            monitors.put(monitor, owner);
        }
        owner.depth++;
    }

    boolean holds(Object monitor) {
        final Owner owner = monitors.get(monitor);
        return owner != null && owner.task == running;
    }

    void exit(Object monitor) {
        final Owner owner = owner(monitor);
        if (--owner.depth == 0) {
            monitors.remove(monitor);
        }
    }
}
