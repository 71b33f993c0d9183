package org.sealstone.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Calls of functions in a plan. They have places and no fields: Spark gives the fields of a plan other ids, and would not find
 * those in here.
 *
 * @param calls the calls
 */
record BatchedCalls(List<Call> calls) implements Serializable {
    /**
     * A call.
     *
     * @param by how the column is sealed
     * @param kind what is made of a value
     * @param column the name of the sealed column
     * @param made the place of the result among the fields of the plan
     * @param value the place of the value among its arguments
     * @param row the place of what names the row among its arguments; -1 if there is none
     */
    record Call(SealedBy by, Work.Kind kind, String column, int made, int value, int row) implements Serializable {}

    BatchedCalls {
        calls = List.copyOf(calls);
    }

    /** Returns those of a plan's fields that the calls make. */
    AttributeSet madeIn(Seq<Attribute> output) {
        List<Expression> made = new ArrayList<>();
        for (Call call : calls) {
            made.add(output.apply(call.made));
        }
        return AttributeSet.apply(CollectionConverters.asScala(made).toSeq());
    }

    /** Returns the work that makes rows with the fields {@code output} from rows with the fields {@code input}. */
    Work between(List<Attribute> input, List<Attribute> arguments, List<Attribute> output) {
        List<Work.Call> placed = new ArrayList<>();
        int[] fields = new int[output.size()];
        boolean[] isMade = new boolean[fields.length];
        for (Call call : calls) {
            fields[call.made] = Work.madeBy(placed.size());
            isMade[call.made] = true;
            int row = call.row < 0 ? -1 : place(input, arguments.get(call.row));
            int value = place(input, arguments.get(call.value));
            placed.add(new Work.Call(call.by, call.kind, call.column, value, row, row < 0 ? null : DataTypes.StringType));
        }
        for (int at = 0; at < fields.length; at++) {
            if (!isMade[at]) {
                fields[at] = place(input, output.get(at));
            }
        }
        return new Work(placed, fields);
    }

    private static int place(List<Attribute> input, Attribute field) {
        for (int at = 0; at < input.size(); at++) {
            if (input.get(at).exprId().equals(field.exprId())) {
                return at;
            }
        }
        throw new IllegalStateException("a plan without the field " + field.exprId());
    }

    /** Shows what is called, in the plan of a query. */
    @Override
    public String toString() {
        return calls.stream()
                .map(call -> call.kind.name().toLowerCase(Locale.ROOT) + " " + call.column)
                .collect(Collectors.joining(", "));
    }
}
