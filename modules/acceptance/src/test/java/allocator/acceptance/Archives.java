package allocator.acceptance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.jar.JarFile;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** The jars that build tools make of an application and its libraries: all classes in one, or jars in a jar. */
final class Archives {
    private static final String SERVICES = "META-INF/services/";
    private static final String MANIFEST = """
            Manifest-Version: 1.0
            Enable-Native-Access: ALL-UNNAMED
            Main-Class: %s
            """;

    private Archives() {}

    /** Makes a jar of all classes, with the service files merged, as shading does. */
    static synchronized Path uberJar(Shipped shipped) throws IOException {
        final Path jar = shipped.folder.resolve("uber.jar");
        if (Files.exists(jar)) {
            return jar;
        }
        final Map<String, StringBuilder> services = new TreeMap<>();
        final Set<String> names = new HashSet<>();
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
            out.setLevel(1);
            write(out, JarFile.MANIFEST_NAME, MANIFEST.formatted("com.example.day.Day"));
            names.add(JarFile.MANIFEST_NAME);
            for (final Path library : shipped.all()) {
                try (ZipFile in = new ZipFile(library.toFile())) {
                    for (final ZipEntry entry : in.stream().toList()) {
                        final String name = entry.getName();
                        final byte[] bytes = in.getInputStream(entry).readAllBytes();
                        if (name.startsWith(SERVICES) && !entry.isDirectory()) {
                            services.computeIfAbsent(name, ignored -> new StringBuilder())
                                    .append(new String(bytes, StandardCharsets.UTF_8).strip())
                                    .append('\n');
                        } else if (!entry.isDirectory() && !name.endsWith("module-info.class") && names.add(name)) {
                            write(out, name, bytes);
                        }
                    }
                }
            }
            for (final Map.Entry<String, StringBuilder> service : services.entrySet()) {
                write(out, service.getKey(), service.getValue().toString());
            }
        }
        return jar;
    }

    /** Makes a jar of jars with Spring Boot's launcher, as its plug-in does: nested jars are not compressed. */
    static Path springBootJar(Shipped shipped) throws IOException {
        final Path loader = Shipped.classPath().stream()
                .filter(jar -> jar.getFileName().toString().startsWith("spring-boot-loader"))
                .findFirst()
                .orElseThrow();
        final Path jar = shipped.folder.resolve("spring-boot.jar");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
            write(
                    out,
                    JarFile.MANIFEST_NAME,
                    MANIFEST.formatted("org.springframework.boot.loader.launch.JarLauncher")
                            + "Start-Class: com.example.day.Day\n"
                            + "Spring-Boot-Classes: BOOT-INF/classes/\nSpring-Boot-Lib: BOOT-INF/lib/\n");
            copyClasses(loader, "", out);
            out.putNextEntry(new ZipEntry("BOOT-INF/"));
            out.putNextEntry(new ZipEntry("BOOT-INF/classes/"));
            copyClasses(shipped.day, "BOOT-INF/classes/", out);
            out.putNextEntry(new ZipEntry("BOOT-INF/lib/"));
            for (final Path library : shipped.all()) {
                if (!library.equals(shipped.day)) {
                    store(out, "BOOT-INF/lib/" + library.getFileName(), Files.readAllBytes(library));
                }
            }
        }
        return jar;
    }

    private static void copyClasses(Path from, String prefix, ZipOutputStream out) throws IOException {
        try (ZipFile in = new ZipFile(from.toFile())) {
            for (final ZipEntry entry : in.stream().toList()) {
                final String name = entry.getName();
                if (!entry.isDirectory() && !name.equals(JarFile.MANIFEST_NAME) && !name.equals("module-info.class")) {
                    write(out, prefix + name, in.getInputStream(entry).readAllBytes());
                }
            }
        }
    }

    private static void write(ZipOutputStream out, String name, String text) throws IOException {
        write(out, name, text.getBytes(StandardCharsets.UTF_8));
    }

    private static void write(ZipOutputStream out, String name, byte[] bytes) throws IOException {
        out.putNextEntry(new ZipEntry(name));
        out.write(bytes);
    }

    private static void store(ZipOutputStream out, String name, byte[] bytes) throws IOException {
        final ZipEntry entry = new ZipEntry(name);
        final CRC32 crc = new CRC32();
        crc.update(bytes);
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(bytes.length);
        entry.setCrc(crc.getValue());
        out.putNextEntry(entry);
        out.write(bytes);
    }
}
