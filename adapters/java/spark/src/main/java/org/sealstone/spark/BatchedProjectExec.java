package org.sealstone.spark;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** A {@link BatchedProject} as it is carried out. */
public final class BatchedProjectExec extends SparkPlan {
    private static final long serialVersionUID = 1L;

    private final BatchedCalls calls;

    /** Fields of the plan below, of which the calls are made. */
    private final Seq<Attribute> arguments;

    private final Seq<Attribute> output;
    private final SparkPlan child;
    private final Seq<SparkPlan> children;

    /** Makes one; Spark copies plans by this constructor. */
    public BatchedProjectExec(BatchedCalls calls, Seq<Attribute> arguments, Seq<Attribute> output, SparkPlan child) {
        this.calls = calls;
        this.arguments = arguments;
        this.output = output;
        this.child = child;
        children = CollectionConverters.asScala(List.of(child)).toSeq();
    }

    @Override
    public RDD<InternalRow> doExecute() {
        Work work = calls.between(
                CollectionConverters.asJava(child.output()),
                CollectionConverters.asJava(arguments),
                CollectionConverters.asJava(output));
        StructType fields = schema();
        return child.execute().toJavaRDD().mapPartitions(part -> projected(new Batches(part, work), fields)).rdd();
    }

    /** Returns rows as what is done next with them wants them. */
    private static Iterator<InternalRow> projected(Iterator<InternalRow> rows, StructType fields) {
        UnsafeProjection projection = UnsafeProjection.create(fields);
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return rows.hasNext();
            }

            @Override
            public InternalRow next() {
                return projection.apply(rows.next());
            }
        };
    }

    @Override
    public Seq<Attribute> output() {
        return output;
    }

    // rows stay where they are

    @Override
    public Partitioning outputPartitioning() {
        return child.outputPartitioning();
    }

    @Override
    public Seq<SortOrder> outputOrdering() {
        return child.outputOrdering();
    }

    @Override
    public AttributeSet producedAttributes() {
        return calls.madeIn(output);
    }

    @Override
    public Seq<SparkPlan> children() {
        return children;
    }

    @Override
    public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
        return new BatchedProjectExec(calls, arguments, output, children.apply(0));
    }

    @Override
    public int productArity() {
        return 4;
    }

    @Override
    public Object productElement(int at) {
        return switch (at) {
            case 0 -> calls;
            case 1 -> arguments;
            case 2 -> output;
            case 3 -> child;
            default -> throw new IndexOutOfBoundsException(at);
        };
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof BatchedProjectExec;
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || other instanceof BatchedProjectExec same
                        && calls.equals(same.calls)
                        && arguments.equals(same.arguments)
                        && output.equals(same.output)
                        && child.equals(same.child);
    }

    // of all elements, as a plan of Spark's has it
    @Override
    public int hashCode() {
        return super.hashCode();
    }
}
