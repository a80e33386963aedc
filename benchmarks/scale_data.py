"""Rows for the measurements of scale: any number of rows of 50 columns, in Parquet files with dictionaries.

The last column is the class. Each other column has two to five states, and depends on the class or on the column before
it. Rows are made in pieces of a seed of their own, so that the first rows are the same however many there are.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

N_FEATURES, N_CLASSES = 49, 3
NAMES = [*(f"x{i}" for i in range(N_FEATURES)), "class"]
CARDS = [*(2 + i % 4 for i in range(N_FEATURES)), N_CLASSES]
PIECE = 500_000  # rows that are made at once, and of one file
GROUP = 125_000  # rows of a row group


def codes_of_piece(number: int, n_rows: int, seed: int = 0) -> np.ndarray:
    """The codes of a piece, a line for each column."""
    generator = np.random.default_rng([seed, number])
    codes = np.empty((len(CARDS), n_rows), dtype=np.uint8)
    codes[-1] = generator.integers(0, N_CLASSES, n_rows, dtype=np.uint8)
    for i, card in enumerate(CARDS[:-1]):
        own = generator.integers(0, card, n_rows, dtype=np.uint8)
        follows = generator.integers(0, 256, n_rows, dtype=np.uint8) < 64 + 4 * (i % 16)
        source = codes[-1] if i % 2 == 0 else codes[i - 1]
        codes[i] = np.where(follows, source % card, own)
    return codes


def write(folder: Path, n_rows: int, seed: int = 0) -> Path:
    """A folder of Parquet files with these rows; one that is there already is taken as it is."""
    import pyarrow as pa
    from pyarrow import parquet

    made = folder / f"rows-{n_rows}"
    if (made / "complete").exists():
        return made
    made.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, n_rows, PIECE)):
        codes = codes_of_piece(number, min(PIECE, n_rows - start), seed)
        columns = [
            pa.DictionaryArray.from_arrays(pa.array(row.view(np.int8)), pa.array([f"s{k}" for k in range(card)]))
            for row, card in zip(codes, CARDS, strict=True)
        ]
        table = pa.table(columns, names=NAMES)
        parquet.write_table(table, made / f"part-{number:04}.parquet", row_group_size=GROUP)
    (made / "complete").touch()
    return made


def n_bytes(folder: Path) -> int:
    """The size of the files."""
    return sum(path.stat().st_size for path in folder.glob("*.parquet"))
