package org.sealstone.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** A {@code SELECT} in the plan of a query, some of whose columns are sealed or opened, many rows at a time. */
public final class BatchedProject extends LogicalPlan {
    private final BatchedCalls calls;

    /** Fields of the plan below, of which the calls are made. */
    private final Seq<Attribute> arguments;

    private final Seq<Attribute> output;
    private final LogicalPlan child;
    private final Seq<LogicalPlan> children;

    /** Makes one; Spark copies plans by this constructor. */
    public BatchedProject(BatchedCalls calls, Seq<Attribute> arguments, Seq<Attribute> output, LogicalPlan child) {
        this.calls = calls;
        this.arguments = arguments;
        this.output = output;
        this.child = child;
        children = CollectionConverters.asScala(List.of(child)).toSeq();
    }

    BatchedCalls calls() {
        return calls;
    }

    Seq<Attribute> arguments() {
        return arguments;
    }

    LogicalPlan child() {
        return child;
    }

    @Override
    public Seq<Attribute> output() {
        return output;
    }

    @Override
    public AttributeSet producedAttributes() {
        return calls.madeIn(output);
    }

    @Override
    public Seq<LogicalPlan> children() {
        return children;
    }

    @Override
    public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
        return new BatchedProject(calls, arguments, output, children.apply(0));
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
        return other instanceof BatchedProject;
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || other instanceof BatchedProject same
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
