"""What `import warpline` gives to programs: captures to ask, traces to import. ``docs/python.md`` shows how."""
