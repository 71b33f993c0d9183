//! Types of the fields of a footer, for each struct whose fields are read or changed here. A field
//! of another type is damage: a reader made from `parquet.thrift` skips it, others take its bytes
//! for the expected type, and a place in the file that only some of them see would be left
//! unchanged when everything moves.
//!
//! Source: apache/parquet-format, `parquet.thrift`.

use crate::thrift::{BINARY, I16, I32, I64, LIST, STRUCT, Struct, Value};

/// A field of a struct.
#[derive(Clone, Copy)]
struct Field {
    id: i16,
    kind: u8,
    /// Type of the elements of a list.
    of: u8,
    /// Fields of a struct, or of each element of a list.
    inner: &'static [Field],
}

const fn value(id: i16, kind: u8) -> Field {
    Field { id, kind, of: 0, inner: &[] }
}

const fn list(id: i16, of: u8, inner: &'static [Field]) -> Field {
    Field { id, kind: LIST, of, inner }
}

const FILE: &[Field] = &[
    value(1, I32),
    list(2, STRUCT, ELEMENT),
    value(3, I64),
    list(4, STRUCT, GROUP),
    list(5, STRUCT, KEY_VALUE),
    value(6, BINARY),
    list(7, STRUCT, &[]),
    value(8, STRUCT),
    value(9, BINARY),
];
const ELEMENT: &[Field] = &[
    value(1, I32),
    value(2, I32),
    value(3, I32),
    value(4, BINARY),
    value(5, I32),
    value(6, I32),
    value(7, I32),
    value(8, I32),
    value(9, I32),
    value(10, STRUCT),
];
const GROUP: &[Field] = &[
    list(1, STRUCT, CHUNK),
    value(2, I64),
    value(3, I64),
    list(4, STRUCT, SORTING),
    value(5, I64),
    value(6, I64),
    value(7, I16),
];
const SORTING: &[Field] = &[value(1, I32)];
const CHUNK: &[Field] = &[
    value(1, BINARY),
    value(2, I64),
    Field { inner: META, ..value(3, STRUCT) },
    value(4, I64),
    value(5, I32),
    value(6, I64),
    value(7, I32),
    value(8, STRUCT),
    value(9, BINARY),
];
const META: &[Field] = &[
    value(1, I32),
    list(2, I32, &[]),
    list(3, BINARY, &[]),
    value(4, I32),
    value(5, I64),
    value(6, I64),
    value(7, I64),
    list(8, STRUCT, KEY_VALUE),
    value(9, I64),
    value(10, I64),
    value(11, I64),
    value(12, STRUCT),
    list(13, STRUCT, &[]),
    value(14, I64),
    value(15, I32),
    value(16, STRUCT),
    value(17, STRUCT),
];
const KEY_VALUE: &[Field] = &[value(1, BINARY), value(2, BINARY)];

/// Returns whether each known field of the footer `file` has its type in the format. An empty list
/// may have elements of any type: there are none, and some writers store no type.
pub(crate) fn hold(file: &Struct) -> bool {
    all_hold(file, FILE)
}

fn all_hold(found: &Struct, fields: &[Field]) -> bool {
    fields.iter().all(|Field { id, kind, of, inner }| match found.get(*id) {
        None => true,
        Some(Value::Struct(found)) => *kind == STRUCT && all_hold(found, inner),
        Some(Value::List(LIST, _, elements)) => {
            let holds = |element: &Value| match element {
                Value::Struct(found) => *of == STRUCT && all_hold(found, inner),
                other => other.kind() == *of,
            };
            *kind == LIST && elements.iter().all(holds)
        }
        Some(other) => other.kind() == *kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a value of the type of `field`, and all fields within it.
    fn whole(field: &Field) -> Value {
        match field.kind {
            STRUCT => Value::Struct(structure(field.inner)),
            LIST => {
                let element = Field { kind: field.of, ..*field };
                Value::List(LIST, field.of, vec![whole(&element); 2])
            }
            BINARY => Value::text("name"),
            kind => Value::Number(kind, 7),
        }
    }

    fn structure(fields: &[Field]) -> Struct {
        let mut made = Struct::default();
        fields.iter().for_each(|field| made.set(field.id, whole(field)));
        made
    }

    /// Returns the last element of the list `id`, which has structs.
    fn last(found: &mut Struct, id: i16) -> &mut Struct {
        match found.list_mut(id).unwrap().last_mut() {
            Some(Value::Struct(inner)) => inner,
            other => panic!("{other:?}"),
        }
    }

    /// Calls `each` with `root` after each change of one field below `found`, which `at` finds
    /// again.
    fn changes(
        root: &Struct,
        found: &Struct,
        fields: &[Field],
        at: &dyn Fn(&mut Struct) -> &mut Struct,
        each: &mut dyn FnMut(&Struct, &str),
    ) {
        let others = [
            Value::i32(1),
            Value::i64(1),
            Value::Number(I16, 1),
            Value::text("1"),
            Value::Bool(true),
            Value::Struct(Struct::default()),
            Value::List(LIST, I64, vec![Value::i64(1)]),
        ];
        for field in fields {
            let right = found.get(field.id).unwrap();
            for other in
                others.iter().filter(|other| other.kind() != right.kind() || other.kind() == LIST)
            {
                let mut changed = root.clone();
                at(&mut changed).set(field.id, other.clone());
                each(&changed, &format!("field {} as {other:?} instead of {right:?}", field.id));
            }
            match right {
                Value::Struct(inner) => {
                    changes(
                        root,
                        inner,
                        field.inner,
                        &|root| at(root).structure_mut(field.id).unwrap(),
                        each,
                    );
                }
                Value::List(_, STRUCT, elements) => {
                    let Value::Struct(inner) = &elements[1] else { unreachable!() };
                    changes(root, inner, field.inner, &|root| last(at(root), field.id), each);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn no_field_of_another_type_is_taken() {
        let file = structure(FILE);
        assert!(hold(&file));
        let mut count = 0;
        changes(&file, &file, FILE, &|root| root, &mut |changed, what| {
            assert!(!hold(changed), "{what}");
            count += 1;
        });
        assert!(count > 300, "{count}");
    }

    #[test]
    fn lists_without_elements_and_fields_of_newer_writers_are_taken() {
        let mut file = structure(FILE);
        file.set(4, Value::List(LIST, 0, Vec::new()));
        file.set(100, Value::text("of a newer writer"));
        assert!(hold(&file));
        assert!(hold(&Struct::default()));
        file.set(4, Value::List(10, STRUCT, Vec::new()));
        assert!(!hold(&file), "a set is no list");
    }
}
