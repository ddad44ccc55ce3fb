package allocator.cli;

import allocator.cli.output.ProgressBar;
import allocator.cli.output.Terminal;
import allocator.cli.text.DeviceId;
import allocator.runtime.Environment;
import allocator.runtime.ProviderDevice;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.UnsupportedMemoryException;
import allocator.trace.Trace;
import allocator.view.Page;
import allocator.view.Profiler;
import allocator.view.TraceProfile;
import java.util.ArrayList;
import java.util.List;

/** Makes the page of a trace, with the placement policies that the provider has side by side. */
record ProfilePage(Environment environment, ProviderDevice device, AllocatorOptions given, Terminal terminal) {
    /** The policies shown unless the user names others. */
    private static final List<String> POLICIES = List.of("best-fit", "slabs", "compact");

    /** A policy and the settings with it. */
    private record Choice(String name, AllocatorOptions settings, boolean isAsked) {}

    /**
     * Makes the page.
     *
     * @param named the policies that the user named, empty if none
     * @throws CommandException if the device fails, or does not have a policy that the user named
     */
    String of(Trace trace, List<String> named) {
        final List<Choice> choices = choices(named);
        final List<TraceProfile> profiles = new ArrayList<>();
        try (ProgressBar bar = new ProgressBar(terminal)) {
            for (int i = 0; i < choices.size(); i++) {
                final int before = i;
                final Choice choice = choices.get(i);
                try {
                    profiles.add(Profiler.profile(
                            trace,
                            choice.name(),
                            environment,
                            device,
                            choice.settings(),
                            done -> bar.show(
                                    (before + done) / choices.size(), trace.name() + ": page, " + choice.name())));
                } catch (UnsupportedMemoryException e) {
                    if (choice.isAsked()) {
                        throw new CommandException(trace.name() + ": " + e.getMessage(), e);
                    }
                } catch (AllocatorException e) {
                    throw new CommandException(trace.name() + ": " + e.getMessage(), e);
                }
            }
        }
        return Page.of(trace.name() + " on " + DeviceId.of(device) + " through " + device.provider(), profiles);
    }

    private List<Choice> choices(List<String> named) {
        final String set = given.value(PolicyOption.KEY);
        if (set != null) {
            return List.of(new Choice(set, given, true));
        }
        if (!named.isEmpty()) {
            final List<AllocatorOptions> settings =
                    PolicyOption.settings(named, PolicyOption.NAME, given, environment, device.provider());
            final List<Choice> choices = new ArrayList<>();
            for (int i = 0; i < named.size(); i++) {
                choices.add(new Choice(named.get(i), settings.get(i), true));
            }
            return choices;
        }
        final List<Choice> choices = new ArrayList<>();
        for (final String policy : POLICIES) {
            try {
                choices.add(new Choice(
                        policy,
                        PolicyOption.settings(
                                        List.of(policy),
                                        PolicyOption.USUAL_ORIGIN,
                                        given,
                                        environment,
                                        device.provider())
                                .getFirst(),
                        policy.equals(POLICIES.getFirst())));
            } catch (UsageException _) {
                // The provider does not have it.
            }
        }
        return choices.isEmpty() ? List.of(new Choice("default", given, true)) : choices;
    }
}
