package org.sealstone.spark;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Has functions of ours called for many rows at once, where they are columns of a {@code SELECT} by themselves. Others stay as
 * they are: in a condition, or behind {@code CASE}, a function is called for some rows alone, and those that it is not meant for
 * may have values that do not fit.
 */
final class BatchingRule extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        // Spark optimizes it once more, with the plan that it becomes a part of
        if (plan instanceof Subquery) {
            return plan;
        }
        LogicalPlan done = plan.mapChildren(this::apply);
        return done instanceof Project project && !isOrdered(project.child()) ? batched(project) : done;
    }

    /** Returns whether rows have an order that a {@code LIMIT} above may need: Spark finds it through its own operators alone. */
    private static boolean isOrdered(LogicalPlan plan) {
        return plan instanceof Sort sort
                ? sort.global()
                : (plan instanceof Project || plan instanceof Filter) && isOrdered(plan.children().apply(0));
    }

    private static LogicalPlan batched(Project project) {
        List<NamedExpression> wanted = CollectionConverters.asJava(project.projectList());
        if (wanted.stream().noneMatch(one -> call(one) != null)) {
            return project;
        }
        Below below = new Below();
        List<BatchedCalls.Call> calls = new ArrayList<>();
        List<Attribute> arguments = new ArrayList<>();
        List<Attribute> output = new ArrayList<>();
        for (NamedExpression one : wanted) {
            ScalaUDF function = call(one);
            if (function == null) {
                below.add((Expression) one);
            } else {
                SqlFunctions.Known known = SqlFunctions.known(function);
                List<Expression> given = CollectionConverters.asJava(function.children());
                int value = arguments.size();
                int row = known.arity() < 3 ? -1 : value + 1;
                given.subList(1, given.size()).forEach(argument -> arguments.add(below.add(argument)));
                String column = ((Literal) given.get(0)).value().toString();
                calls.add(new BatchedCalls.Call(known.by(), known.kind(), column, output.size(), value, row));
            }
            output.add(one.toAttribute());
        }
        return new BatchedProject(
                new BatchedCalls(calls),
                CollectionConverters.asScala(arguments).toSeq(),
                CollectionConverters.asScala(output).toSeq(),
                below.on(project.child()));
    }

    /** Returns the function of ours that is a column by itself; null if there is none, or it takes something else than texts. */
    private static ScalaUDF call(NamedExpression one) {
        if (!(one instanceof Alias alias && alias.child() instanceof ScalaUDF function)) {
            return null;
        }
        SqlFunctions.Known known = SqlFunctions.known(function);
        List<Expression> arguments = CollectionConverters.asJava(function.children());
        if (known == null || arguments.size() != known.arity()) {
            return null;
        }
        boolean isNamed = arguments.get(0) instanceof Literal name && name.value() instanceof UTF8String;
        boolean areTexts = arguments.stream().allMatch(argument -> argument.dataType().equals(DataTypes.StringType));
        return isNamed && areTexts ? function : null;
    }

    /** What the rows must have, of which calls are made: fields of the plan below, and what is computed from them. */
    private static final class Below {
        private final Map<ExprId, NamedExpression> fields = new LinkedHashMap<>();
        private boolean computes;

        /** Adds an expression, and returns the field that has its value. */
        Attribute add(Expression one) {
            NamedExpression named = one instanceof NamedExpression already ? already : alias(one);
            fields.putIfAbsent(named.exprId(), named);
            computes |= !(named instanceof Attribute);
            return named.toAttribute();
        }

        private static Alias alias(Expression one) {
            return new Alias(
                    one,
                    "argument",
                    NamedExpression$.MODULE$.newExprId(),
                    CollectionConverters.asScala(List.<String>of()).toSeq(),
                    Option.empty(),
                    CollectionConverters.asScala(List.<String>of()).toSeq());
        }

        LogicalPlan on(LogicalPlan plan) {
            // by a projection a scan of files knows which columns it needs
            boolean isLess = fields.size() < plan.output().size();
            List<NamedExpression> wanted = List.copyOf(fields.values());
            return computes || isLess ? new Project(CollectionConverters.asScala(wanted).toSeq(), plan) : plan;
        }
    }
}
