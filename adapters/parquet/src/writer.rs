//! The output file: pages as they arrive, then their entries in the footer.

use crate::columns::Columns;
use crate::error::ParquetError;
use crate::footer::{
    CHUNK_META, FILE_GROUPS, FILE_ROWS, GROUP_BYTES, GROUP_CHUNKS, GROUP_COMPRESSED, GROUP_OFFSET,
    GROUP_ORDINAL, GROUP_ROWS, MAGIC, META_COMPRESSED, META_UNCOMPRESSED, chunks, of_bytes,
};
use crate::output::Out;
use crate::schema::change_sorting;
use crate::source::Source;
use crate::splice::{Placed, Stored};
use crate::thrift::{I16, Struct, Value};

/// The file.
pub(crate) struct Writer<'a> {
    out: Out<'a>,
    groups: Vec<(Struct, Vec<Placed>)>,
    rows: u64,
}

/// A row group of which some columns were written.
pub(crate) struct Group {
    stored: Struct,
    start: u64,
    placed: Vec<Placed>,
}

impl<'a> Writer<'a> {
    /// Begins the file.
    pub(crate) fn begin(mut out: Out<'a>) -> Result<Self, ParquetError> {
        out.put(MAGIC)?;
        Ok(Self { out, groups: Vec::new(), rows: 0 })
    }

    /// Begins a row group that is `stored` so in the file that is read.
    pub(crate) fn group(&self, stored: &Struct) -> Group {
        let mut stored = stored.clone();
        stored.remove(GROUP_CHUNKS);
        Group { stored, start: self.out.position(), placed: Vec::new() }
    }

    /// Moves the column `name`, which `chunk` describes, unchanged.
    pub(crate) fn column(
        &mut self,
        group: &mut Group,
        name: &str,
        chunk: &Struct,
        source: &Source,
    ) -> Result<(), ParquetError> {
        group.placed.push(Placed::pages(chunk, name, Stored::File(source), &mut self.out)?);
        Ok(())
    }

    /// Moves the column `name`, which was encoded as a separate file.
    pub(crate) fn encoded(
        &mut self,
        group: &mut Group,
        name: &str,
        file: &[u8],
    ) -> Result<(), ParquetError> {
        let broken = || ParquetError::Encode {
            column: name.to_owned(),
            found: "a footer that cannot be read".to_owned(),
        };
        let footer = of_bytes(file).ok_or_else(broken)?;
        let encoded =
            footer.list(FILE_GROUPS).first().and_then(Value::as_struct).ok_or_else(broken)?;
        let chunk = chunks(encoded).next().ok_or_else(broken)?;
        group.placed.push(Placed::pages(chunk, name, Stored::Memory(file), &mut self.out)?);
        Ok(())
    }

    /// Ends a row group of `rows` rows.
    pub(crate) fn end_group(
        &mut self,
        group: Group,
        rows: u64,
        columns: &Columns,
    ) -> Result<(), ParquetError> {
        let Group { mut stored, start, mut placed } = group;
        for chunk in &mut placed {
            chunk.bloom(&mut self.out)?;
        }
        let sum = |id: i16| -> i64 {
            let numbers =
                placed.iter().filter_map(|placed| placed.chunk.structure(CHUNK_META)?.number(id));
            numbers.fold(0, i64::wrapping_add)
        };
        stored.set(GROUP_BYTES, Value::i64(sum(META_UNCOMPRESSED)));
        stored.set(GROUP_ROWS, Value::i64(rows as i64));
        if stored.get(GROUP_COMPRESSED).is_some() {
            stored.set(GROUP_COMPRESSED, Value::i64(sum(META_COMPRESSED)));
        }
        if stored.get(GROUP_OFFSET).is_some() {
            stored.set(GROUP_OFFSET, Value::i64(start as i64));
        }
        match i16::try_from(self.groups.len()) {
            Ok(number) if stored.get(GROUP_ORDINAL).is_some() => {
                stored.set(GROUP_ORDINAL, Value::Number(I16, number.into()));
            }
            _ => stored.remove(GROUP_ORDINAL),
        }
        change_sorting(&mut stored, columns);
        self.groups.push((stored, placed));
        self.rows += rows;
        Ok(())
    }

    /// Writes page indexes and the footer, of which `file` is all but rows and row groups.
    pub(crate) fn finish(mut self, mut file: Struct) -> Result<(), ParquetError> {
        // readers fetch all indexes of a kind at once, so these are beside each other
        for placed in self.groups.iter_mut().flat_map(|(_, placed)| placed) {
            placed.column_index(&mut self.out)?;
        }
        for placed in self.groups.iter_mut().flat_map(|(_, placed)| placed) {
            placed.offset_index(&mut self.out)?;
        }
        let group = |(mut stored, placed): (Struct, Vec<Placed>)| {
            stored.set(
                GROUP_CHUNKS,
                Value::structs(placed.into_iter().map(|placed| placed.chunk).collect()),
            );
            stored
        };
        file.set(FILE_ROWS, Value::i64(self.rows as i64));
        file.set(FILE_GROUPS, Value::structs(self.groups.into_iter().map(group).collect()));
        let mut footer = Vec::new();
        file.write(&mut footer);
        let length = u32::try_from(footer.len());
        let length = length.map_err(|_| ParquetError::FooterTooLong {
            bytes: footer.len() as u64,
            limit: u32::MAX.into(),
        })?;
        self.out.put(&footer)?;
        self.out.put(&length.to_le_bytes())?;
        self.out.put(MAGIC)?;
        self.out.flush()
    }
}
