package org.sealstone.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Plans how a {@link BatchedProject} is carried out. */
final class BatchingStrategy extends SparkStrategy {
    @Override
    public Seq<SparkPlan> apply(LogicalPlan plan) {
        List<SparkPlan> plans = plan instanceof BatchedProject project
                ? List.of(new BatchedProjectExec(
                        project.calls(), project.arguments(), project.output(), planLater(project.child())))
                : List.of();
        return CollectionConverters.asScala(plans).toSeq();
    }
}
