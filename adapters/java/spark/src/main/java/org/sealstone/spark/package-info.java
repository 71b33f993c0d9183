/**
 * Columns of tables in Spark, sealed and opened without Python, by {@link org.sealstone.spark.SealstoneSpark}: whole tables, and
 * SQL functions, some thousand values at a time. Workers open the key themselves.
 *
 * <p>It uses parts of Spark that are not for applications ({@code InternalRow}, plans of queries), so it is for the release of Spark that it was
 * built with, 4.0. Not here: how a value is sealed ({@code org.sealstone}), files.
 */
package org.sealstone.spark;
