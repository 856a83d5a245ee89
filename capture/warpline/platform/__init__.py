"""Everything outside recording that asks which system this is: Linux, macOS or Windows."""
