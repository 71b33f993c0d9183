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
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.sealstone.KeySource;

/** Tables of Spark on two workers, as threads or as processes: sealed, opened, and judged by the command. */
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
    private static final String MASTER = System.getProperty("sealstone.spark.master", "local[2]");

    @TempDir
    static Path directory;

    private static SparkSession spark;
    private static KeySource key;
    private static Dataset<Row> people;

    @BeforeAll
    static void begin() throws Exception {
        SparkSession.Builder builder = SparkSession.builder();
        if (!MASTER.startsWith("local[")) {
            // Spark starts workers as if it were installed, with a folder of its own jars: they get what this process has instead
            Files.createDirectories(Path.of(System.getenv("SPARK_HOME"), "jars"));
            builder.config("spark.executor.extraClassPath", System.getProperty("java.class.path"))
                    .config("spark.executor.extraJavaOptions", "-Dsealstone.library=" + System.getProperty("sealstone.library"))
                    .config("spark.executor.memory", "640m");
        }
        spark = builder.master(MASTER)
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
    void workersAreWhatThisRunIsAbout() {
        UDF1<Long, Long> process = id -> ProcessHandle.current().pid();
        spark.udf().register("process", process, DataTypes.LongType);
        List<Long> processes = people.selectExpr("process(id) AS p").distinct().collectAsList().stream().map(row -> row.getLong(0)).toList();
        boolean isHere = processes.contains(ProcessHandle.current().pid());
        assertEquals(MASTER.startsWith("local["), isHere, MASTER + ": " + processes);
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
        // not some rows by a LIMIT, which may be others each time
        Dataset<Row> first = people.where("id < 500");
        SealstoneSpark.SealedTable sealed = SealstoneSpark.seal(first, directory.resolve("fields.toml"), null, key);
        StringBuilder csv = new StringBuilder("id,phone,memo,note,phone_index\n");
        StringBuilder clear = new StringBuilder("id,phone,memo,note\n");
        List<Row> before = sorted(first.na().drop());
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

    private static String plan(Dataset<Row> table) {
        return ((org.apache.spark.sql.classic.Dataset<Row>) table).queryExecution().optimizedPlan().toString();
    }

    @Test
    void columnsByThemselvesAreSealedManyAtATime() {
        String manifest = SealstoneSpark.seal(people, directory.resolve("fields.toml"), "people", key).manifest();
        people.createOrReplaceTempView("people");
        SealstoneSpark.register(spark, manifest, key);
        // in another order than in the table, twice, with what is computed before and beside it
        Dataset<Row> many = spark.sql("SELECT note * 2 AS twice, seal('phone', phone) AS a, index_of('phone', phone) AS b, id,"
                + " seal_row('memo', memo, string(id)) AS memo, seal('phone', concat(substr(phone, 1, 4), substr(phone, 5))) AS c,"
                + " open('phone', seal('phone', phone)) AS d FROM people");
        assertTrue(plan(many).contains("BatchedProject seal phone, index phone, seal memo"), plan(many));
        assertFalse(plan(many).matches("(?s).*\\b(seal|open|index_of|seal_row|open_row)\\(.*"), plan(many));
        // the same, value by value
        Dataset<Row> each = spark.sql("SELECT note * 2 AS twice, concat(seal('phone', phone)) AS a, concat(index_of('phone', phone)) AS b,"
                + " id, phone AS d FROM people");
        assertFalse(plan(each).contains("BatchedProject"), plan(each));
        List<String> same = List.of("twice", "a", "b", "id", "d");
        assertEquals(sorted(each), sorted(many.selectExpr(same.toArray(String[]::new))));
        assertEquals(0, many.where("a != c OR (a IS NULL) != (c IS NULL)").count());
        many.createOrReplaceTempView("many");
        Dataset<Row> opened = spark.sql("SELECT id, open('phone', a) AS phone, open_row('memo', memo, string(id)) AS memo, twice / 2 AS note FROM many");
        assertTrue(plan(opened).contains("BatchedProject open phone, open memo"), plan(opened));
        assertEquals(sorted(people), sorted(opened));
        // rows that go to other workers, and those of a join of the same table
        assertEquals(sorted(people), sorted(opened.repartition(3)));
        assertEquals(ROWS, opened.as("x").join(opened.as("y"), "id").where("x.memo <=> y.memo").count());
        assertEquals(3, opened.limit(3).collectAsList().size());
    }

    @Test
    void plansAroundFunctionsStayRight() {
        SealstoneSpark.SealedTable sealed = SealstoneSpark.seal(people, directory.resolve("fields.toml"), "people", key);
        sealed.rows().createOrReplaceTempView("sealed");
        people.createOrReplaceTempView("people");
        SealstoneSpark.register(spark, sealed.manifest(), key);
        long phones = people.where("phone IS NOT NULL").count();
        // a part of the plan that is used twice, and gets other ids
        assertEquals(
                List.of(phones),
                spark.sql("WITH p AS (SELECT id, seal('phone', phone) AS phone FROM people) SELECT count(*) FROM p a JOIN p b ON a.id = b.id"
                                + " AND a.phone = b.phone")
                        .collectAsList().stream().map(row -> row.getLong(0)).toList());
        // one that is optimized by itself first
        spark.sql("SELECT id, open('phone', phone) AS phone FROM sealed").createOrReplaceTempView("opened");
        assertEquals(
                phones,
                spark.sql("SELECT id FROM people p WHERE EXISTS (SELECT 1 FROM opened o WHERE o.id = p.id AND o.phone = p.phone)").count());
        Dataset<Row> most = spark.sql("SELECT (SELECT max(phone) FROM opened) AS most");
        assertEquals(people.selectExpr("max(phone)").collectAsList().get(0).getString(0), most.collectAsList().get(0).getString(0));
        // rows in an order, of which some are taken
        for (Dataset<Row> first : List.of(
                sealed.rows().orderBy("id").selectExpr("id", "open('phone', phone) AS phone").limit(10),
                spark.sql("SELECT id, open('phone', phone) AS phone FROM (SELECT * FROM sealed ORDER BY id LIMIT 10)"))) {
            List<Row> ten = sorted(people.select("id", "phone")).subList(0, 10);
            assertEquals(ten, first.collectAsList());
            assertEquals(ten, sorted(first.repartition(2)));
        }
        // what is not asked for is not read
        Dataset<Row> two = spark.sql("SELECT id, seal('phone', phone) AS p FROM people");
        assertTrue(plan(two).matches("(?s).*BatchedProject.*Project \\[.*"), plan(two));
        assertThrows(Exception.class, () -> spark.sql("SELECT open('phone') FROM people"));
        assertThrows(Exception.class, () -> spark.sql("SELECT open('phone', phone, phone) FROM people"));
    }

    @Test
    void functionsBehindConditionsAreCalledForThoseRowsAlone() {
        SealstoneSpark.SealedTable sealed = SealstoneSpark.seal(people, directory.resolve("fields.toml"), "people", key);
        people.withColumn("phone", org.apache.spark.sql.functions.expr("if(id = 77, 'zilch', phone)")).createOrReplaceTempView("some");
        SealstoneSpark.register(spark, sealed.manifest(), key);
        Dataset<Row> guarded = spark.sql("SELECT id, CASE WHEN id = 77 THEN phone ELSE seal('phone', phone) END AS phone FROM some");
        assertEquals("zilch", sorted(guarded).get(77).getString(1));
        Dataset<Row> all = spark.sql("SELECT id, seal('phone', phone) AS phone FROM some");
        Exception fault = assertThrows(Exception.class, all::collectAsList);
        assertTrue(fault.getMessage().contains("column phone, partition "), fault.getMessage());
        assertFalse(fault.getMessage().contains("zilch"), fault.getMessage());
        Dataset<Row> fits = spark.sql("SELECT id, seal('phone', phone) AS phone FROM some WHERE id != 77");
        assertEquals(ROWS - 1, fits.count());
        assertEquals(ROWS - 1, fits.collectAsList().size());
        // another function of the same name is not ours
        spark.udf().register("seal", (String column, String value) -> "another", DataTypes.StringType);
        Dataset<Row> another = spark.sql("SELECT id, seal('phone', phone) AS phone FROM some");
        assertFalse(plan(another).contains("BatchedProject"), plan(another));
        assertEquals("another", sorted(another).get(1).getString(1));
    }

    @Test
    void tablesUnderTwoKeysAreJoinedInOneStatement() throws Exception {
        Files.writeString(directory.resolve("orders.toml"), """
                [tables.orders.columns.buyer]
                method = "ff1"
                format = "phone"
                [tables.orders.columns.memo]
                method = "aead"
                """);
        command("keys", "new", "orders.key");
        KeySource another = KeySource.file(directory.resolve("orders.key"));
        String manifest = SealstoneSpark.register(spark, "people_", directory.resolve("fields.toml"), "people", key);
        SealstoneSpark.register(spark, "orders_", directory.resolve("orders.toml"), null, another);
        people.createOrReplaceTempView("people");
        people.where("id % 3 = 0").selectExpr("id AS number", "phone AS buyer", "concat('order ', id) AS memo").createOrReplaceTempView("orders");
        spark.sql("SELECT id, people_seal('phone', phone) AS phone, people_seal_row('memo', memo, string(id)) AS memo, note FROM people")
                .createOrReplaceTempView("sealed_people");
        spark.sql("SELECT number, orders_seal('buyer', buyer) AS buyer, orders_seal('memo', memo) AS memo FROM orders")
                .createOrReplaceTempView("sealed_orders");
        List<Row> clear = sorted(spark.sql("SELECT id, p.phone AS phone, p.memo AS note, o.memo AS memo FROM people p JOIN orders o ON p.phone = o.buyer AND id = number"));
        assertTrue(clear.size() > ROWS / 4, clear.size() + " rows");
        String from = " FROM sealed_people p JOIN sealed_orders o ON id = number";
        // many at a time, with both keys in one step of the plan
        Dataset<Row> many = spark.sql("SELECT id, people_open('phone', phone) AS phone, people_open_row('memo', p.memo, string(id)) AS note,"
                + " orders_open('memo', o.memo) AS memo, orders_open('buyer', buyer) AS buyer" + from);
        assertTrue(plan(many).contains("BatchedProject open phone, open memo, open memo, open buyer"), plan(many));
        assertEquals(clear, sorted(many.where("phone = buyer").drop("buyer")));
        // value by value, in a condition and within another function
        Dataset<Row> each = spark.sql("SELECT id, concat(people_open('phone', phone)) AS phone,"
                + " concat(people_open_row('memo', p.memo, string(id))) AS note, concat(orders_open('memo', o.memo)) AS memo" + from
                + " AND people_open('phone', phone) = orders_open('buyer', buyer)");
        assertFalse(plan(each).contains("BatchedProject open"), plan(each));
        assertEquals(clear, sorted(each));
        // neither key opens what the other sealed
        Dataset<Row> crossed = spark.sql("SELECT people_open_row('memo', memo, string(number)) AS memo FROM sealed_orders");
        assertThrows(Exception.class, crossed::collectAsList);
        // the manifest is what opens the table later
        assertEquals(sorted(people), sorted(SealstoneSpark.open(spark.table("sealed_people"), manifest, key)));
        SealstoneSpark.register(spark, "later_", manifest, key);
        assertEquals(ROWS, spark.sql("SELECT id FROM sealed_people WHERE later_open('phone', phone) <=> people_open('phone', phone)").count());
        assertThrows(IllegalArgumentException.class, () -> SealstoneSpark.register(spark, manifest, "people_", key));
    }

    @Test
    void aRowForAColumnWithoutRowsIsAnError() {
        SealstoneSpark.register(spark, directory.resolve("fields.toml"), "people", key);
        people.createOrReplaceTempView("people");
        for (String call : List.of("seal_row('phone', phone, string(id))", "concat(seal_row('phone', phone, string(id)))")) {
            Dataset<Row> bound = spark.sql("SELECT " + call + " AS phone FROM people");
            Exception fault = assertThrows(Exception.class, bound::collectAsList);
            StringBuilder said = new StringBuilder();
            for (Throwable cause = fault; cause != null; cause = cause.getCause()) {
                said.append(cause.getMessage());
            }
            assertTrue(said.toString().contains("column phone is not bound to rows"), said.toString());
        }
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
            stream.writeObject(Work.onTable(SealedBy.of(sealed.manifest(), key), true, people.schema()).work());
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
