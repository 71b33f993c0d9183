"""The part that is written in Rust."""

import os
from typing import Any, Optional, Union

__version__: str

class Error(Exception):
    """Something cannot be sealed or opened. The second line says what to do next."""

class Chunks:
    """A column in one or more chunks."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...
    def chunk(self) -> Chunk: ...

class Chunk:
    """A column in one piece."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...

class Policy:
    """Which columns of which tables are sealed, how, and under which key."""

    @staticmethod
    def from_file(path: Union[str, os.PathLike[str]]) -> Policy: ...
    @staticmethod
    def parse(text: str) -> Policy: ...
    @property
    def tables(self) -> list[str]: ...
    def key(self, table: Optional[str] = None) -> Optional[str]: ...

class TableCipher:
    """Seals and opens the columns of one table under one version of a key."""

    @staticmethod
    def of_policy(
        policy: Policy,
        table: Optional[str] = None,
        key: Optional[str] = None,
        passphrase_file: Optional[str] = None,
    ) -> TableCipher: ...
    @staticmethod
    def of_column(
        spec: str,
        table: str,
        key: str,
        *,
        passphrase_file: Optional[str] = None,
        cipher: Optional[str] = None,
        tweak: str = "column",
        index: Optional[int] = None,
        keep_empty: bool = False,
        small_domain: bool = False,
    ) -> TableCipher: ...
    @staticmethod
    def of_manifest(manifest: str, key: str, passphrase_file: Optional[str] = None) -> TableCipher: ...
    @property
    def table(self) -> str: ...
    @property
    def cipher(self) -> str: ...
    @property
    def caveat(self) -> Optional[str]: ...
    @property
    def key_id(self) -> str: ...
    @property
    def key_version(self) -> int: ...
    @property
    def manifest(self) -> str: ...
    @property
    def columns(self) -> list[tuple[str, Optional[str], Optional[str]]]: ...
    def seal(
        self, column: int, values: Any, rows: Any = None, threads: Optional[int] = None
    ) -> tuple[Chunks, int, list[tuple[int, str]]]: ...
    def open(
        self, column: int, values: Any, rows: Any = None, threads: Optional[int] = None
    ) -> tuple[Chunks, int, list[tuple[int, str]]]: ...
    def index(self, column: int, values: Any, threads: Optional[int] = None) -> Chunks: ...

class FileCipher:
    """Seals and opens whole files, CSV or Parquet, under keys of one source."""

    def __new__(cls, key: str, passphrase_file: Optional[str] = None) -> FileCipher: ...
    def seal(
        self,
        input: Union[str, os.PathLike[str]],
        out: Union[str, os.PathLike[str]],
        manifest: str,
        *,
        delimiter: str = ",",
        encoding: str = "UTF-8",
        on_error: str = "fail",
        threads: int = 1,
    ) -> tuple[int, int]: ...
    def open(
        self,
        input: Union[str, os.PathLike[str]],
        out: Union[str, os.PathLike[str]],
        *,
        changed: bool = False,
        on_error: str = "fail",
        threads: int = 1,
    ) -> tuple[int, int]: ...

def check_layout(delimiter: str, encoding: str) -> None: ...
def manifest_columns(text: str) -> tuple[str, list[tuple[str, Optional[str], Optional[str]]]]: ...
