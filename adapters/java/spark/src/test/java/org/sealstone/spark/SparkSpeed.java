package org.sealstone.spark;

import java.io.BufferedWriter;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.sealstone.KeySource;

/**
 * How long Spark takes to seal a table from Java, beside its own copy of the same table: five columns, two of them by FF1, as
 * {@code adapters/python/examples/spark_speed.py} has them. Works take turns after a round that warms up; the seconds of the CPU
 * are those of this process.
 *
 * <p>Arguments: a directory, the path of a key file, rows, rounds, and {@code csv} or {@code parquet}.
 */
public final class SparkSpeed {
    private static final String POLICY = """
            cipher = "aes-256"
            [tables.people.columns.card]
            method = "ff1"
            format = "card:6-0"
            [tables.people.columns.phone]
            method = "ff1"
            format = "phone"
            """;
    private static final int PARTS = 8;

    private SparkSpeed() {}

    /** Measures. */
    public static void main(String[] arguments) throws IOException {
        Path directory = Path.of(arguments[0]);
        KeySource key = KeySource.file(Path.of(arguments[1]));
        long rows = Long.parseLong(arguments[2]);
        int rounds = Integer.parseInt(arguments[3]);
        boolean csv = arguments[4].equals("csv");
        SparkSession spark = SparkSession.builder().master("local[2]").config("spark.ui.enabled", "false")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.driver.host", "127.0.0.1").getOrCreate();
        spark.sparkContext().setLogLevel("OFF");
        Path lake = directory.resolve("lake");
        Files.createDirectories(lake);
        for (int part = 0; part < PARTS; part++) {
            write(lake.resolve("part-" + part + ".csv"), rows * part / PARTS, rows * (part + 1) / PARTS);
        }
        Dataset<Row> table = spark.read().option("header", true).csv(lake.toString());
        if (!csv) {
            table.write().mode("overwrite").parquet(directory.resolve("parquet").toString());
            table = spark.read().parquet(directory.resolve("parquet").toString());
        }
        Path policy = directory.resolve("fields.toml");
        Files.writeString(policy, POLICY);
        Dataset<Row> people = table;
        SealstoneSpark.SealedTable sealed = SealstoneSpark.seal(people, policy, null, key);
        SealstoneSpark.register(spark, sealed.manifest(), key);
        Map<String, Runnable> works = new LinkedHashMap<>();
        works.put("Spark copies the table", () -> save(people, directory, csv));
        works.put("`SealstoneSpark.seal`", () -> save(sealed.rows(), directory, csv));
        works.put("SQL function `seal`", () -> save(
                people.selectExpr("id", "name", "seal('card', card) AS card", "seal('phone', phone) AS phone", "note"), directory, csv));
        // within another one it is called value by value
        works.put("the same within another function", () -> save(
                people.selectExpr("id", "name", "concat(seal('card', card)) AS card", "concat(seal('phone', phone)) AS phone", "note"),
                directory,
                csv));
        report(works, rounds);
        spark.stop();
    }

    private static void report(Map<String, Runnable> works, int rounds) {
        Map<String, double[][]> taken = new LinkedHashMap<>();
        works.keySet().forEach(name -> taken.put(name, new double[2][rounds]));
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        for (int round = -1; round < rounds; round++) {
            for (Map.Entry<String, Runnable> work : works.entrySet()) {
                long begin = System.nanoTime();
                long cpu = system.getProcessCpuTime();
                work.getValue().run();
                if (round >= 0) {
                    taken.get(work.getKey())[0][round] = (System.nanoTime() - begin) / 1e9;
                    taken.get(work.getKey())[1][round] = (system.getProcessCpuTime() - cpu) / 1e9;
                }
            }
        }
        System.out.println("| | CPU seconds | of Spark's copy | seconds | of Spark's copy |");
        System.out.println("|---|---:|---:|---:|---:|");
        double[][] copied = taken.values().iterator().next();
        taken.forEach((name, times) -> System.out.println(String.format(
                Locale.ROOT,
                "| %s | %s | %s | %s | %s |",
                name,
                shown(times[1]),
                ratios(times[1], copied[1]),
                shown(times[0]),
                ratios(times[0], copied[0]))));
    }

    private static String ratios(double[] times, double[] others) {
        double[] ratios = new double[times.length];
        Arrays.setAll(ratios, at -> times[at] / others[at]);
        return shown(ratios);
    }

    private static String shown(double[] times) {
        double[] sorted = times.clone();
        Arrays.sort(sorted);
        return String.format(Locale.ROOT, "%.2f (%.2f to %.2f)", sorted[sorted.length / 2], sorted[0], sorted[sorted.length - 1]);
    }

    private static void save(Dataset<Row> table, Path directory, boolean csv) {
        var writer = table.write().mode("overwrite");
        String out = directory.resolve("out").toString();
        if (csv) {
            writer.option("header", true).csv(out);
        } else {
            writer.parquet(out);
        }
    }

    private static void write(Path file, long begin, long end) throws IOException {
        try (BufferedWriter out = Files.newBufferedWriter(file)) {
            out.write("id,name,card,phone,note\n");
            for (long id = begin; id < end; id++) {
                String digits = Long.toString(411_111_000_000_000L + id * 7919 % 1_000_000_000);
                out.write(id + ",name " + id % 9973 + "," + digits + check(digits) + ",010-" + padded(id / 10_000 % 10_000) + "-"
                        + padded(id % 10_000) + ",a note of some length\n");
            }
        }
    }

    private static String padded(long number) {
        return Long.toString(10_000 + number).substring(1);
    }

    /** Returns the check digit of the numbers of payment cards. */
    private static int check(String digits) {
        int sum = 0;
        for (int at = 0; at < digits.length(); at++) {
            int digit = (digits.charAt(digits.length() - 1 - at) - '0') * (at % 2 == 0 ? 2 : 1);
            sum += digit / 10 + digit % 10;
        }
        return (10 - sum % 10) % 10;
    }
}
