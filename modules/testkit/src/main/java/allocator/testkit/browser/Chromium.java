package allocator.testkit.browser;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;

/**
 * A Chromium without a window, driven by its DevTools protocol over the JDK's web socket: the pages are tested as a
 * user has them, with a mouse and a keyboard.
 */
public final class Chromium implements AutoCloseable {
    /** The property that makes a skip a failure. */
    public static final String REQUIRED = "allocator.browser.required";

    private static final long PATIENCE_SECONDS = 120;

    private final Process process;
    private final WebSocket socket;
    private final BlockingQueue<String> received = new LinkedBlockingQueue<>();
    private final List<String> errors = new ArrayList<>();
    private final List<String> requests = new ArrayList<>();
    private int lastId;

    private Chromium(Process process, String url, HttpClient client) {
        this.process = process;
        socket = client.newWebSocketBuilder()
                .buildAsync(URI.create(url), new Listener())
                .join();
        call("Page.enable", "{}");
        call("Runtime.enable", "{}");
        call("Log.enable", "{}");
        call("Network.enable", "{}");
    }

    /** Starts the Chromium of the path; skips the test if there is none, unless one is required. */
    public static Chromium start(Path profile) throws Exception {
        final String program = program().orElse("");
        if (program.isEmpty()) {
            final String reason = "no Chromium is on the path";
            if (Boolean.getBoolean(REQUIRED)) {
                Assertions.fail(REQUIRED + " is set, but " + reason);
            }
            Assumptions.abort(reason);
        }
        return start(program, profile);
    }

    /** Returns the program, if it is on the path. */
    private static Optional<String> program() {
        return Stream.of("chromium", "chromium-browser", "google-chrome")
                .flatMap(name -> Stream.of(System.getenv("PATH").split(File.pathSeparator, -1))
                        .map(folder -> Path.of(folder, name)))
                .filter(Files::isExecutable)
                .map(Path::toString)
                .findFirst();
    }

    private static Chromium start(String program, Path profile) throws Exception {
        final Process process = new ProcessBuilder(
                        program,
                        "--headless=new",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--disable-dev-shm-usage",
                        "--no-first-run",
                        "--disable-background-networking",
                        "--hide-scrollbars",
                        "--remote-debugging-port=0",
                        "--user-data-dir=" + profile,
                        "about:blank")
                .redirectErrorStream(true)
                .redirectOutput(profile.resolve("chromium.log").toFile())
                .start();
        try {
            final Path port = profile.resolve("DevToolsActivePort");
            final long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
            while (Files.notExists(port) || Files.readAllLines(port).size() < 2) {
                if (!process.isAlive() || System.nanoTime() > end) {
                    throw new IOException(
                            "Chromium does not start: " + Files.readString(profile.resolve("chromium.log")));
                }
                Thread.sleep(50);
            }
            final HttpClient client = HttpClient.newHttpClient();
            final HttpRequest list = HttpRequest.newBuilder(URI.create(
                            "http://127.0.0.1:" + Files.readAllLines(port).getFirst() + "/json/list"))
                    .build();
            final Object pages = parse(
                    client.send(list, HttpResponse.BodyHandlers.ofString()).body());
            final String url = ((List<?>) pages)
                    .stream()
                            .map(page -> (Map<?, ?>) page)
                            .filter(page -> "page".equals(page.get("type")))
                            .map(page -> String.valueOf(page.get("webSocketDebuggerUrl")))
                            .findFirst()
                            .orElseThrow();
            return new Chromium(process, url, client);
        } catch (Throwable e) {
            process.destroyForcibly();
            throw e;
        }
    }

    /** Sets the size of the window and the colour scheme. */
    public void show(int width, int height, boolean isDark) {
        call("Emulation.setDeviceMetricsOverride", """
                {"width": %d, "height": %d, "deviceScaleFactor": 1, "mobile": false}""".formatted(width, height));
        call("Emulation.setEmulatedMedia", """
                {"features": [{"name": "prefers-color-scheme", "value": "%s"}]}""".formatted(isDark ? "dark" : "light"));
    }

    /** Opens a page that says in {@code data-ready} when it is drawn, and returns the milliseconds until then. */
    public long open(Path file) throws InterruptedException {
        final long begin = System.nanoTime();
        navigate(file.toUri().toString());
        await("document.documentElement?.dataset.ready === 'true'");
        evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done('drawn'))))");
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
    }

    /** Opens an address and waits until all of the page is loaded. */
    public void load(URI address) throws InterruptedException {
        navigate("about:blank");
        await("location.href === 'about:blank'");
        navigate(address.toString());
        await("location.href !== 'about:blank' && document.readyState === 'complete'");
    }

    private void navigate(String address) {
        call("Page.navigate", "{\"url\": %s}".formatted(quoted(address)));
    }

    /** Waits until an expression is true. */
    public void await(String condition) throws InterruptedException {
        final long begin = System.nanoTime();
        while (!"true".equals(evaluate("String(" + condition + ")"))) {
            if (System.nanoTime() - begin > TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS)) {
                throw new AssertionError("never true: " + condition + "; errors of the page: " + errors);
            }
            Thread.sleep(20);
        }
    }

    /** Evaluates an expression, and returns its value as text. */
    public String evaluate(String expression) {
        final Map<?, ?> answer = call("Runtime.evaluate", """
                {"expression": %s, "returnByValue": true, "awaitPromise": true}""".formatted(quoted(expression)));
        if (answer.get("exceptionDetails") != null) {
            throw new AssertionError(expression + ": " + answer.get("exceptionDetails"));
        }
        return String.valueOf(((Map<?, ?>) Objects.requireNonNull(answer.get("result"))).get("value"));
    }

    /** Moves the mouse to a part of an element: 0, 0 is its left upper corner and 1, 1 its right lower one. */
    public void hover(String selector, double x, double y) {
        mouse("mouseMoved", selector, x, y, "none");
    }

    /** Drags the mouse from one part of an element to another one. */
    public void drag(String selector, double fromX, double toX) {
        mouse("mousePressed", selector, fromX, 0.5, "left");
        mouse("mouseMoved", selector, (fromX + toX) / 2, 0.5, "left");
        mouse("mouseMoved", selector, toX, 0.5, "left");
        mouse("mouseReleased", selector, toX, 0.5, "left");
    }

    private void mouse(String type, String selector, double x, double y, String button) {
        evaluate("document.querySelector('" + selector + "').scrollIntoView({block: 'center'})");
        final String[] box = evaluate("(r => [r.left, r.top, r.width, r.height].join())(document.querySelector('"
                        + selector + "').getBoundingClientRect())")
                .split(",", -1);
        call("Input.dispatchMouseEvent", """
                {"type": "%s", "x": %s, "y": %s, "button": "%s", "clickCount": %d}""".formatted(
                        type,
                        Double.parseDouble(box[0]) + x * Double.parseDouble(box[2]),
                        Double.parseDouble(box[1]) + y * Double.parseDouble(box[3]),
                        button,
                        button.equals("none") ? 0 : 1));
    }

    /** Focuses an element and presses a key. */
    public void press(String selector, String key) {
        evaluate("document.querySelector('" + selector + "').focus()");
        call("Input.dispatchKeyEvent", "{\"type\": \"keyDown\", \"key\": %s}".formatted(quoted(key)));
        call("Input.dispatchKeyEvent", "{\"type\": \"keyUp\", \"key\": %s}".formatted(quoted(key)));
    }

    /** Focuses an element and types a text. */
    public void type(String selector, String text) {
        evaluate("document.querySelector('" + selector + "').focus()");
        call("Input.insertText", "{\"text\": %s}".formatted(quoted(text)));
    }

    /** Writes a picture of the whole page. */
    public void screenshot(Path file) throws IOException {
        final String[] size = evaluate(
                        "[document.documentElement.clientWidth, document.documentElement.scrollHeight].join()")
                .split(",", -1);
        final Map<?, ?> answer = call("Page.captureScreenshot", """
                {"format": "png", "captureBeyondViewport": true,
                 "clip": {"x": 0, "y": 0, "width": %s, "height": %s, "scale": 1}}""".formatted(size[0], size[1]));
        Files.createDirectories(Objects.requireNonNull(file.getParent()));
        Files.write(file, Base64.getDecoder().decode(String.valueOf(answer.get("data"))));
    }

    /** Returns what the page has logged as errors or thrown. */
    public List<String> errors() {
        return List.copyOf(errors);
    }

    /** Returns the addresses that pages have requested so far, of files and of hosts. */
    public List<String> requests() {
        return List.copyOf(requests);
    }

    private Map<?, ?> call(String method, String parameters) {
        final int id = ++lastId;
        socket.sendText("{\"id\": %d, \"method\": \"%s\", \"params\": %s}".formatted(id, method, parameters), true)
                .join();
        try {
            while (true) {
                final String text = received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
                if (text == null) {
                    throw new AssertionError(method + ": no answer");
                }
                final Map<?, ?> message = (Map<?, ?>) Objects.requireNonNull(parse(text));
                if (String.valueOf(id).equals(String.valueOf(message.get("id")))) {
                    if (message.get("error") != null) {
                        throw new AssertionError(method + ": " + message.get("error"));
                    }
                    return (Map<?, ?>) Objects.requireNonNull(message.get("result"));
                }
                note(message, text);
            }
        } catch (InterruptedException | IOException e) {
            throw new AssertionError(method, e);
        }
    }

    private void note(Map<?, ?> message, String text) {
        final String method = String.valueOf(message.get("method"));
        if (method.equals("Runtime.exceptionThrown")
                || (method.equals("Runtime.consoleAPICalled") && text.contains("\"type\":\"error\""))
                || (method.equals("Log.entryAdded") && text.contains("\"level\":\"error\""))) {
            errors.add(text);
        }
        if (method.equals("Network.requestWillBeSent")
                && message.get("params") instanceof Map<?, ?> event
                && event.get("request") instanceof Map<?, ?> request) {
            requests.add(String.valueOf(request.get("url")));
        }
    }

    private final class Listener implements WebSocket.Listener {
        private final StringBuilder text = new StringBuilder();

        @Override
        public @Nullable CompletionStage<?> onText(WebSocket from, CharSequence data, boolean isLast) {
            text.append(data);
            if (isLast) {
                received.add(text.toString());
                text.setLength(0);
            }
            from.request(1);
            return null;
        }
    }

    private static String quoted(String text) {
        return '"' + new String(JsonStringEncoder.getInstance().quoteAsString(text)) + '"';
    }

    private static Object parse(String text) throws IOException {
        try (JsonParser json = new JsonFactory().createParser(text)) {
            json.nextToken();
            return value(json);
        }
    }

    private static Object value(JsonParser json) throws IOException {
        if (json.currentToken() == JsonToken.START_OBJECT) {
            final Map<String, Object> fields = new LinkedHashMap<>();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                final String name = json.currentName();
                json.nextToken();
                fields.put(name, value(json));
            }
            return fields;
        }
        if (json.currentToken() == JsonToken.START_ARRAY) {
            final List<Object> elements = new ArrayList<>();
            while (json.nextToken() != JsonToken.END_ARRAY) {
                elements.add(value(json));
            }
            return elements;
        }
        return json.getText();
    }

    @Override
    public void close() {
        socket.abort();
        process.destroy();
        try {
            process.onExit().get(10, TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            process.destroyForcibly();
        }
    }
}
