"""What an assistant may ask: captures behind the Model Context Protocol (``warpline mcp``).

Answers are English whatever the language of the user: models read them, and tests hold their words.
"""
