package org.sealstone.spark;

import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.sealstone.KeySource;
import org.sealstone.Sealstone;

/**
 * Seals and opens tables of Spark.
 *
 * <p><b>Keys.</b> The workers fetch the key themselves: what is sent to them is the manifest and the place of the key, never the
 * key or a passphrase. So a key file must be at the same path on every machine, or the key server must let them in, and the
 * native library must be there.
 */
public final class SealstoneSpark {
    private SealstoneSpark() {}

    /**
     * A sealed table.
     *
     * @param rows its rows; nothing is computed before Spark needs it
     * @param manifest how it is sealed, and under which key; without it the table cannot be opened
     */
    public record SealedTable(Dataset<Row> rows, String manifest) {}

    /**
     * Seals a table under the newest version of its key.
     *
     * @param table the table
     * @param policy the file with the policy
     * @param name the name of the table in the policy; null for the only one
     * @param key where the key is
     * @return the sealed table, with index columns last, and its manifest
     */
    public static SealedTable seal(Dataset<Row> table, Path policy, String name, KeySource key) {
        String manifest = manifest(policy, name, key);
        return new SealedTable(seal(table, manifest, key), manifest);
    }

    /** Returns the manifest of what is sealed from now on by a policy. */
    private static String manifest(Path policy, String name, KeySource key) {
        Objects.requireNonNull(key, "key");
        try (Sealstone sealstone = Sealstone.open(policy, key)) {
            return sealstone.manifest(name);
        }
    }

    /**
     * Seals more of a table in the way that a manifest says.
     *
     * @param table the table
     * @param manifest the manifest
     * @param key where the key is
     * @return the sealed table, with index columns last
     */
    public static Dataset<Row> seal(Dataset<Row> table, String manifest, KeySource key) {
        return done(Work.onTable(SealedBy.of(manifest, key), true, table.schema()), table);
    }

    /**
     * Opens a table.
     *
     * @param table the sealed table
     * @param manifest how it is sealed
     * @param key where the key is
     * @return the table in the clear, without index columns
     */
    public static Dataset<Row> open(Dataset<Row> table, String manifest, KeySource key) {
        SealedBy by = SealedBy.of(manifest, key);
        Sealstone session = by.session();
        String[] indexes = session.columns(null).stream()
                .flatMap(column -> session.column(column).indexName().stream())
                .toArray(String[]::new);
        Dataset<Row> kept = table.drop(indexes);
        return done(Work.onTable(by, false, kept.schema()), kept);
    }

    private static Dataset<Row> done(Work.OnTable on, Dataset<Row> table) {
        var classic = (org.apache.spark.sql.classic.Dataset<Row>) table;
        Work work = on.work();
        JavaRDD<InternalRow> rows = classic.queryExecution().toRdd().toJavaRDD();
        JavaRDD<InternalRow> made = rows.mapPartitions(part -> new Batches(part, work));
        return ((org.apache.spark.sql.classic.SparkSession) classic.sparkSession())
                .internalCreateDataFrame(made.rdd(), on.schema(), false);
    }

    /**
     * Registers functions for SQL, of the columns of one table: {@code seal(column, value)}, {@code open(column, value)} and
     * {@code index_of(column, value)}, and for columns that are bound to rows {@code seal_row(column, value, row)} and
     * {@code open_row(column, value, row)}. The column is its name as text. A second call replaces the functions of the first:
     * for tables in one query give them prefixes.
     *
     * <p>A call that is a column of a {@code SELECT} by itself is made for some thousand rows at a time, which may be a few more
     * rows than a {@code LIMIT} lets through, and than {@code input_file_name} names the file of. Elsewhere, in a condition or
     * behind {@code CASE}, each value passes by itself, and for those rows alone that the query asks for.
     *
     * @param spark the session
     * @param manifest how the table is sealed
     * @param key where the key is
     */
    public static void register(SparkSession spark, String manifest, KeySource key) {
        register(spark, "", manifest, key);
    }

    /**
     * Registers the same functions with a prefix before each name, so that tables with keys of their own meet in one query.
     *
     * @param spark the session
     * @param prefix the prefix, as {@code people_} for {@code people_seal} and the others: letters, digits and underscores
     * @param manifest how the table is sealed
     * @param key where the key is
     */
    public static void register(SparkSession spark, String prefix, String manifest, KeySource key) {
        if (!prefix.matches("\\w*")) {
            throw new IllegalArgumentException("a prefix for names of functions has letters, digits and underscores alone");
        }
        SealedBy by = SealedBy.of(manifest, key);
        // a wrong key is an error here, and not in the workers alone
        List<String> columns = by.session().columns(null);
        columns.forEach(by::column);
        SqlFunctions.register(spark, prefix, by);
    }

    /**
     * Registers the functions for a table that a policy describes and that is sealed from now on, under the newest version of its
     * key.
     *
     * @param spark the session
     * @param policy the file with the policy
     * @param table the name of the table in the policy; null for the only one
     * @param key where the key is
     * @return the manifest of what the functions seal; without it that cannot be opened
     */
    public static String register(SparkSession spark, Path policy, String table, KeySource key) {
        return register(spark, "", policy, table, key);
    }

    /**
     * Registers the functions for a table that a policy describes, with a prefix before each name.
     *
     * @param spark the session
     * @param prefix the prefix, as {@code people_} for {@code people_seal} and the others: letters, digits and underscores
     * @param policy the file with the policy
     * @param table the name of the table in the policy; null for the only one
     * @param key where the key is
     * @return the manifest of what the functions seal; without it that cannot be opened
     */
    public static String register(SparkSession spark, String prefix, Path policy, String table, KeySource key) {
        String manifest = manifest(policy, table, key);
        register(spark, prefix, manifest, key);
        return manifest;
    }
}
