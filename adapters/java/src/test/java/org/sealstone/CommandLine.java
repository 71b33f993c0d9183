package org.sealstone;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The command sealstone, run in one directory. */
final class CommandLine {
    private final Path directory;

    CommandLine(Path directory) {
        this.directory = directory;
    }

    /** The program under test, which the environment names. */
    private static String program() {
        String program = System.getenv("SEALSTONE_BIN");
        if (program == null) {
            throw new IllegalStateException("SEALSTONE_BIN names no program; run: make test-java");
        }
        return program;
    }

    /** Returns what a command printed that succeeds. */
    String done(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(program()));
        command.addAll(Arrays.asList(arguments));
        Path said = Files.createTempFile(directory, "said", ".txt");
        Path failed = Files.createTempFile(directory, "failed", ".txt");
        ProcessBuilder builder = new ProcessBuilder(command).directory(directory.toFile());
        builder.environment().remove("SEALSTONE_PASSPHRASE_FILE");
        Process process = builder.redirectInput(ProcessBuilder.Redirect.from(new java.io.File("/dev/null")))
                .redirectOutput(said.toFile())
                .redirectError(failed.toFile())
                .start();
        if (!process.waitFor(5, TimeUnit.MINUTES) || process.exitValue() != 0) {
            process.destroyForcibly();
            throw new AssertionError(command + ": " + Files.readString(failed, StandardCharsets.UTF_8));
        }
        return Files.readString(said, StandardCharsets.UTF_8);
    }

    Path path(String name) {
        return directory.resolve(name);
    }

    void write(String name, String text) throws IOException {
        Files.writeString(path(name), text);
        Files.setPosixFilePermissions(path(name), java.nio.file.attribute.PosixFilePermissions.fromString("rw-------"));
    }

    /** Returns the rows of a CSV file without quotes, and without its first line. */
    List<String[]> rows(String name) throws IOException {
        return Files.readAllLines(path(name)).stream().skip(1).map(line -> line.split(",", -1)).toList();
    }
}
