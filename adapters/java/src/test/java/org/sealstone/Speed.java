package org.sealstone;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

/**
 * How many values a second one thread seals and opens from Java: from arrays of strings, from {@link Texts}, and one by
 * one. Prints a table. Time is that of the thread's own CPU, so that other work on the machine counts less; the best and
 * the worst of the rounds show what is left of it.
 *
 * <p>Arguments: the path of a key file, and the rounds.
 */
public final class Speed {
    private static final String POLICY = """
            cipher = "aes-256"
            [tables.people.columns.phone]
            method = "ff1"
            format = "phone"
            [tables.people.columns.rrn]
            method = "ff1"
            format = "rrn"
            [tables.people.columns.memo]
            method = "aead"
            """;
    private static final int VALUES = 1 << 18;
    private static final int ONE_BY_ONE = 1 << 16;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Speed() {}

    /** Work that is measured; returns how many values it was. */
    private interface Work {
        int run();
    }

    /** Measures. */
    public static void main(String[] arguments) {
        int rounds = Integer.parseInt(arguments[1]);
        try (Sealstone sealstone = Sealstone.ofPolicy(POLICY, KeySource.file(Path.of(arguments[0])))) {
            System.out.println("| column | work | million values a CPU second, one thread | least to most |");
            System.out.println("|---|---|---:|---|");
            String[] phones = new String[VALUES];
            String[] residents = new String[VALUES];
            Arrays.setAll(phones, at -> String.format("010-%04d-%04d", at / 10_000 % 10_000, at % 10_000));
            Arrays.setAll(residents, at -> String.format(
                    "%02d%02d%02d-%d%06d", at % 100, at % 12 + 1, at % 28 + 1, at % 4 + 1, at * 7919L % 1_000_000));
            column(sealstone.column("phone"), "`ff1:phone`", phones, rounds);
            column(sealstone.column("rrn"), "`ff1:rrn`", residents, rounds);
            column(sealstone.column("memo"), "`aead`, 13 bytes", phones, rounds);
        }
    }

    private static void column(Column column, String name, String[] values, int rounds) {
        String[] sealed = column.seal(values);
        Texts texts = Texts.of(values);
        line(name, "`String[]`, seal", rounds, () -> column.seal(values).length);
        line(name, "`String[]`, open", rounds, () -> column.open(sealed).length);
        line(name, "`Texts`, seal", rounds, () -> column.seal(texts, null).count());
        line(name, "one `String` after the other, seal", rounds, () -> {
            int bytes = 0;
            for (int at = 0; at < ONE_BY_ONE; at++) {
                bytes += column.seal(values[at]).length();
            }
            return bytes == 0 ? 0 : ONE_BY_ONE;
        });
        line(name, "one `String` after the other, open", rounds, () -> {
            int bytes = 0;
            for (int at = 0; at < ONE_BY_ONE; at++) {
                bytes += column.open(sealed[at]).length();
            }
            return bytes == 0 ? 0 : ONE_BY_ONE;
        });
    }

    private static void line(String column, String work, int rounds, Work measured) {
        double[] speeds = new double[rounds];
        measured.run();
        measured.run();
        for (int round = 0; round < rounds; round++) {
            long begin = THREADS.getCurrentThreadCpuTime();
            int count = measured.run();
            speeds[round] = count * 1e3 / (THREADS.getCurrentThreadCpuTime() - begin);
        }
        Arrays.sort(speeds);
        System.out.println(String.format(
                Locale.ROOT,
                "| %s | %s | %.2f | %.2f to %.2f |",
                column,
                work,
                speeds[rounds / 2],
                speeds[0],
                speeds[rounds - 1]));
    }
}
