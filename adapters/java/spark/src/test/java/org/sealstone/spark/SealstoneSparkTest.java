package org.sealstone.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.sealstone.KeySource;

/** Tables of Spark on two workers: sealed, opened, and judged by the command. */
class SealstoneSparkTest {
    private static final String POLICY = """
            [tables.people.columns.phone]
            method = "ff1"
            format = "phone"
            index = true
            [tables.people.columns.memo]
            method = "aead"
            tweak = "row:id"
            empty = "keep"
            """;
    private static final int ROWS = 20_000;

    @TempDir
    static Path directory;

    private static SparkSession spark;
    private static KeySource key;
    private static Dataset<Row> people;

    @BeforeAll
    static void begin() throws Exception {
        spark = SparkSession.builder()
                .master("local[2]")
                .config("spark.ui.enabled", "false")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.sql.shuffle.partitions", "2")
                .getOrCreate();
        spark.sparkContext().setLogLevel("OFF");
        Files.writeString(directory.resolve("fields.toml"), POLICY);
        command("keys", "new", "people.key");
        key = KeySource.file(directory.resolve("people.key"));
        StructType schema = new StructType()
                .add("id", DataTypes.LongType, false)
                .add("phone", DataTypes.StringType)
                .add("memo", DataTypes.StringType)
                .add("note", DataTypes.DoubleType);
        List<Row> rows = new ArrayList<>();
        for (long id = 0; id < ROWS; id++) {
            String phone = id % 11 == 0 ? null : String.format("010-%04d-%04d", id / 3, id % 10_000);
            rows.add(RowFactory.create(id, phone, id % 7 == 0 ? null : id % 5 == 0 ? "" : "memo 메모 " + id, id / 4.0));
        }
        people = spark.createDataFrame(rows, schema).repartition(4).cache();
    }

    @AfterAll
    static void end() {
        spark.stop();
    }

    private static String command(String... arguments) throws Exception {
        List<String> words = new ArrayList<>(List.of(System.getenv("SEALSTONE_BIN")));
        words.addAll(Arrays.asList(arguments));
        Process process = new ProcessBuilder(words).directory(directory.toFile()).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String said = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor(), said);
        return said;
    }

    private static List<Row> sorted(Dataset<Row> table) {
        return table.orderBy("id").collectAsList();
    }

    @Test
    void aTableComesBack() {
        SealstoneSpark.SealedTable sealed = SealstoneSpark.seal(people, directory.resolve("fields.toml"), "people", key);
        Dataset<Row> rows = sealed.rows().cache();
        assertEquals(List.of("id", "phone", "memo", "note", "phone_index"), List.of(rows.columns()));
        List<Row> before = sorted(people);
        List<Row> after = sorted(rows);
        for (int at = 0; at < ROWS; at++) {
            Row clear = before.get(at);
            Row made = after.get(at);
            assertEquals(clear.getDouble(3), made.getDouble(3));
            assertEquals(clear.isNullAt(1), made.isNullAt(1));
            assertEquals(clear.isNullAt(1), made.isNullAt(4), "null has no index value");
            assertEquals(clear.isNullAt(2), made.isNullAt(2));
            if (!clear.isNullAt(2) && !clear.getString(2).isEmpty()) {
                assertNotEquals(clear.getString(2), made.getString(2));
            }
        }
        long same = before.stream().filter(row -> !row.isNullAt(1) && row.getString(1).equals(after.get((int) row.getLong(0)).getString(1))).count();
        assertTrue(same < 3, same + " phones are in the clear");
        assertEquals(before, sorted(SealstoneSpark.open(rows, sealed.manifest(), key)));
    }

    @Test
    void theCommandOpensWhatSparkSealed() throws Exception {
        SealstoneSpark.SealedTable sealed = SealstoneSpark.seal(people.limit(500), directory.resolve("fields.toml"), null, key);
        StringBuilder csv = new StringBuilder("id,phone,memo,note,phone_index\n");
        StringBuilder clear = new StringBuilder("id,phone,memo,note\n");
        List<Row> before = sorted(people.limit(500).na().drop());
        for (Row row : sorted(sealed.rows().na().drop())) {
            csv.append(String.join(",", row.get(0).toString(), row.getString(1), row.getString(2), row.get(3).toString(), row.getString(4))).append('\n');
        }
        before.forEach(row -> clear.append(String.join(",", row.get(0).toString(), row.getString(1), row.getString(2), row.get(3).toString())).append('\n'));
        Files.writeString(directory.resolve("sealed.csv"), csv);
        Files.writeString(directory.resolve("sealed.csv.sealed.toml"), sealed.manifest());
        command("field", "open", "sealed.csv", "--changed", "--key", "people.key", "--out", "opened.csv");
        assertEquals(clear.toString(), Files.readString(directory.resolve("opened.csv")));
    }

    @Test
    void functionsOfSqlSealAndOpenValues() {
        SealstoneSpark.SealedTable sealed = SealstoneSpark.seal(people, directory.resolve("fields.toml"), "people", key);
        sealed.rows().createOrReplaceTempView("sealed");
        people.createOrReplaceTempView("people");
        SealstoneSpark.register(spark, sealed.manifest(), key);
        Dataset<Row> opened = spark.sql(
                "SELECT id, open('phone', phone) AS phone, open_row('memo', memo, string(id)) AS memo, note FROM sealed");
        assertEquals(sorted(people), sorted(opened));
        Dataset<Row> found = spark.sql("SELECT id FROM sealed WHERE phone_index = index_of('phone', '010-0333-1000')");
        assertEquals(List.of(1000L), found.collectAsList().stream().map(row -> row.getLong(0)).toList());
        Dataset<Row> again = spark.sql("WITH p AS (SELECT id, seal('phone', phone) AS phone FROM people) SELECT p.id FROM p JOIN sealed s ON p.phone = s.phone");
        assertEquals(people.where("phone IS NOT NULL").count(), again.count());
    }

    @Test
    void whatDoesNotFitIsNamedWithoutItsValue() {
        Dataset<Row> wrong = people.withColumn("phone", org.apache.spark.sql.functions.expr("if(id = 77, 'zilch', phone)"));
        SealstoneSpark.SealedTable sealed = SealstoneSpark.seal(wrong, directory.resolve("fields.toml"), "people", key);
        Exception fault = assertThrows(Exception.class, () -> sealed.rows().collectAsList());
        assertTrue(fault.getMessage().contains("column phone, partition "), fault.getMessage());
        assertFalse(fault.getMessage().contains("zilch"), fault.getMessage());
        Dataset<Row> numbers = people.withColumn("phone", org.apache.spark.sql.functions.col("id"));
        assertThrows(IllegalArgumentException.class, () -> SealstoneSpark.seal(numbers, sealed.manifest(), key));
    }

    @Test
    void theKeyIsInNothingThatIsSent() throws Exception {
        SealstoneSpark.SealedTable sealed = SealstoneSpark.seal(people, directory.resolve("fields.toml"), "people", key);
        var bytes = new java.io.ByteArrayOutputStream();
        try (var stream = new java.io.ObjectOutputStream(bytes)) {
            stream.writeObject(new Work(SealedBy.of(sealed.manifest(), key), true, people.schema()));
        }
        String sent = bytes.toString(java.nio.charset.StandardCharsets.ISO_8859_1);
        String secret = Files.readAllLines(directory.resolve("people.key")).stream()
                .filter(line -> line.startsWith("secret") || line.startsWith("key ="))
                .map(line -> line.replaceAll(".*\"(.*)\".*", "$1"))
                .filter(text -> text.length() >= 32)
                .findFirst()
                .orElseThrow(() -> new AssertionError("the key file has no secret in one line"));
        assertTrue(sent.contains(directory.resolve("people.key").toString()));
        assertFalse(sent.contains(secret));
    }
}
