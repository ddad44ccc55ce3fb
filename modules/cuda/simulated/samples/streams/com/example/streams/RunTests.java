package com.example.streams;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintWriter;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** Runs the tests, as a build tool does; exits with 1 if one fails. */
public final class RunTests {
    private RunTests() {}

    /** Runs them. */
    public static void main(String[] args) {
        final SummaryGeneratingListener summary = new SummaryGeneratingListener();
        LauncherFactory.create()
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(selectClass(StreamsTest.class))
                                .build(),
                        summary);
        summary.getSummary().printFailuresTo(new PrintWriter(System.out), 30);
        System.out.println(RunTests.class.getModule() + ": "
                + summary.getSummary().getTestsSucceededCount() + " of "
                + summary.getSummary().getTestsFoundCount() + " succeeded");
        System.exit(summary.getSummary().getTotalFailureCount() == 0 ? 0 : 1);
    }
}
