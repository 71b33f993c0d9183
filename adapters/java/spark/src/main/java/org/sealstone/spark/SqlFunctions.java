package org.sealstone.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.expressions.SparkUserDefinedFunction;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import scala.jdk.javaapi.CollectionConverters;

/** The functions of SQL in one session, and which of those in a plan are ours. */
final class SqlFunctions {
    /**
     * A function of ours.
     *
     * @param by how its columns are sealed
     * @param kind what it makes of a value
     * @param arity the number of its arguments
     */
    record Known(SealedBy by, Work.Kind kind, int arity) {}

    /** Functions of every session, by the object that a plan has of them, as long as a session has it. */
    private static final Map<Object, Known> KNOWN = Collections.synchronizedMap(new WeakHashMap<>());

    private SqlFunctions() {}

    /** Registers the functions of one table, and has plans call them for many values at once where that changes nothing. */
    static void register(SparkSession spark, String prefix, SealedBy by) {
        UDF2<String, String, String> seal = (column, value) -> value == null ? null : by.column(column).seal(value);
        UDF2<String, String, String> open = (column, value) -> value == null ? null : by.column(column).open(value);
        UDF2<String, String, String> index = (column, value) -> value == null ? null : by.column(column).index(value);
        UDF3<String, String, String, String> sealRow =
                (column, value, row) -> value == null ? null : by.column(column).seal(value, row);
        UDF3<String, String, String, String> openRow =
                (column, value, row) -> value == null ? null : by.column(column).open(value, row);
        // ff1 seals a value the same each time, aead does not: Spark must not take two calls for one
        add(spark, prefix + "seal", functions.udf(seal, DataTypes.StringType).asNondeterministic(), new Known(by, Work.Kind.SEAL, 2));
        add(spark, prefix + "open", functions.udf(open, DataTypes.StringType), new Known(by, Work.Kind.OPEN, 2));
        add(spark, prefix + "index_of", functions.udf(index, DataTypes.StringType), new Known(by, Work.Kind.INDEX, 2));
        add(spark, prefix + "seal_row", functions.udf(sealRow, DataTypes.StringType).asNondeterministic(), new Known(by, Work.Kind.SEAL, 3));
        add(spark, prefix + "open_row", functions.udf(openRow, DataTypes.StringType), new Known(by, Work.Kind.OPEN, 3));
        if (spark instanceof org.apache.spark.sql.classic.SparkSession classic) {
            plan(classic.experimental());
        }
    }

    private static void add(SparkSession spark, String name, UserDefinedFunction function, Known known) {
        // as a function of Java, whose number of arguments Spark checks
        UserDefinedFunction registered = spark.udf().register(name, function, "java_udf", true);
        if (registered instanceof SparkUserDefinedFunction made) {
            KNOWN.put(made.f(), known);
        }
    }

    /** Returns what is known of a function in a plan; null if it is not ours. */
    static Known known(ScalaUDF function) {
        return KNOWN.get(function.function());
    }

    /** Adds the steps of planning to a session, once: first how a plan is carried out, then what makes such plans. */
    private static synchronized void plan(ExperimentalMethods methods) {
        List<SparkStrategy> strategies = new ArrayList<>(CollectionConverters.asJava(methods.extraStrategies()));
        if (strategies.stream().noneMatch(BatchingStrategy.class::isInstance)) {
            strategies.add(new BatchingStrategy());
            methods.extraStrategies_$eq(CollectionConverters.asScala(strategies).toSeq());
        }
        List<Rule<LogicalPlan>> rules = new ArrayList<>(CollectionConverters.asJava(methods.extraOptimizations()));
        if (rules.stream().noneMatch(BatchingRule.class::isInstance)) {
            rules.add(new BatchingRule());
            methods.extraOptimizations_$eq(CollectionConverters.asScala(rules).toSeq());
        }
    }
}
